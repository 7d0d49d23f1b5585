#include "rollout/traces/triton/kernel.h"

#include "rollout/traces/skeleton_kernel.h"
#include "rollout/traces/triton/skeletons.h"

namespace temper::traces {

std::optional<std::string> write_triton_kernel(const Program& program, const Style& style) {
  return write_skeleton(TritonWriter(program, style));
}

}  // namespace temper::traces
