#include "policy/threads.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <thread>

namespace temper {

void use_threads(int64_t threads) {
  at::set_num_threads(threads > 0 ? int(threads) : int(std::max(1u, std::thread::hardware_concurrency())));
}

}  // namespace temper
