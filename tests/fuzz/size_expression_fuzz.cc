#include "env/task/size_expression.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(size_expression) {
  fuzz::taken([&] { evaluate_size(std::string(bytes), {{"n", 7}, {"m", 1 << 20}}); });
}

}  // namespace temper::env
