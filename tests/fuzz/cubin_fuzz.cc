// A cubin, and what is decided by it.

#include "env/plan/gate.h"
#include "env/plan/launch_rules.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::env {

FUZZ_TARGET(cubin) {
  Cubin cubin;
  if (!read_cubin(bytes, cubin).empty()) return;
  gate_cubin(cubin, "");
  for (const CubinKernel& kernel : cubin.kernels) {
    TEMPER_CHECK(kernel.parameter_bytes() <= kMaxArgumentBytes);
    resident_blocks(kernel, 64, 0, {});
    max_threads(kernel, {});
    max_dynamic_shared(kernel, {});
    check_launch(kernel, {}, {}, {});
  }
}

}  // namespace temper::env
