#include "rollout/traces/triton/kernel.h"

#include "rollout/traces/triton/skeletons.h"

namespace temper::traces {

std::optional<std::string> write_triton_kernel(const Program& program, const Style& style) {
  TritonWriter out(program, style);
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
