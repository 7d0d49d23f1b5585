#include "rollout/traces/cuda/kernel.h"

#include "rollout/traces/cuda/skeletons.h"
#include "rollout/traces/skeleton_kernel.h"

namespace temper::traces {

std::optional<std::string> write_cuda_kernel(const Program& program, const Style& style) {
  return write_skeleton(CudaWriter(program, style));
}

}  // namespace temper::traces
