#include "policy/threads.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/machine/cores.h"

namespace temper::policy {

void use_threads(int64_t threads) {
  at::set_num_threads(threads > 0 ? int(threads) : int(allowed_core_count()));
}

int file_threads() { return int(std::clamp<int64_t>(allowed_core_count(), 1, 8)); }

void on_threads(int64_t count, int threads, const std::function<void(int64_t i, int thread)>& task) {
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&](int thread) {
    try {
      for (int64_t i = next++; i < count; i = next++) task(i, thread);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (int thread = 1; thread < std::min<int64_t>(threads, count); ++thread)
      others.emplace_back([&work, thread] { work(thread); });
    work(0);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace temper::policy
