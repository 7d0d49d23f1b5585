#include "policy/keep.h"

#include <algorithm>

namespace temper::policy {

KeepByBlock keep_for_backward(const MemoryOptions& options, int64_t blocks) {
  if (options.recompute == "none") return {};
  const int64_t most = blocks - 1,
                count = options.recompute_blocks > 0 ? std::min(options.recompute_blocks, most) : most;
  return {options.recompute == "all" ? Keep::kInputs : Keep::kAttention, count};
}

}  // namespace temper::policy
