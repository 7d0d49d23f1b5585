#pragma once
// The options that trade memory of a policy's updates for time. None of them changes what is computed.

#include <cstdint>
#include <string>

#include "base/options.h"

namespace temper::policy {

struct MemoryOptions {
  std::string recompute = "none";   // "feed_forward" or "all" (keep.h)
  int64_t recompute_blocks = 0;     // the first so many blocks; 0: all
  int64_t offload_activations = 0;  // so many of these blocks: the host's memory instead (keep.h)
  int64_t logits_chunk =
      0;  // rows of the [T, V] logits that exist at once; 0: PolicyOptions::chunk_rows chooses
  int64_t zero_stage = 0;    // with several ranks; 0: zero_stage_for (parameters/parameter_store.h) chooses
  int64_t shard_degree = 0;  // ranks of a shard group (parameters/shard_groups.h); 0: all
  // Whether what updates alone need is given up while rollouts go on: "apart", "together"; "auto" is decided by the plan.
  std::string phases = "auto";
  bool offload_optimizer =
      false;  // master weights and moments in the host's memory (parameters/part_updates.h)
  void visit(OptionVisitor& v);
};

}  // namespace temper::policy
