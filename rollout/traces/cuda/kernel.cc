#include "rollout/traces/cuda/kernel.h"

#include "rollout/traces/cuda/skeletons.h"

namespace temper::traces {

std::optional<std::string> write_cuda_kernel(const Program& program, const Style& style) {
  CudaWriter out(program, style);
  switch (program.skeleton) {
    case Skeleton::kMap:
      write_map(out);
      break;
    case Skeleton::kRow:
    case Skeleton::kSoftmax:
      write_rows(out);
      break;
    case Skeleton::kColumn:
      write_columns(out);
      break;
    case Skeleton::kFull:
      write_whole(out);
      break;
    case Skeleton::kScan:
      write_scan(out);
      break;
    case Skeleton::kMatmul:
      write_product(out);
      break;
  }
  return out.finish();
}

}  // namespace temper::traces
