#include "policy/keep.h"

#include <algorithm>

#include "base/error.h"

namespace temper::policy {

KeepByBlock keep_for_backward(const MemoryOptions& options, int64_t blocks) {
  if (options.recompute == "none") return {};
  const int64_t most = blocks - 1,
                count = options.recompute_blocks > 0 ? std::min(options.recompute_blocks, most) : most;
  return {options.recompute == "all" ? Keep::kInputs : Keep::kAttention, count, options.offload_activations};
}

void check_offloaded(const MemoryOptions& options, int64_t blocks, bool on_gpu) {
  const int64_t given = options.offload_activations, most = keep_for_backward(options, blocks).count;
  if (given > 0 && !on_gpu)
    throw ConfigError(
        "model.offload_activations: {} is for a policy on a GPU: must be 0 where the host's memory is the "
        "policy's own",
        given);
  if (given > most)
    throw ConfigError(
        "model.offload_activations: {} is too large: must be at most {}, the number of blocks that recompute "
        "(model.recompute, model.recompute_blocks)",
        given, most);
}

}  // namespace temper::policy
