#include "env/plan/kernel_name.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(kernel_name) { TEMPER_CHECK(kernel_title(bytes).size() <= kMaxKernelTitleBytes); }

}  // namespace temper::env
