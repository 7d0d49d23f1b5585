#pragma once
// What a forward keeps of each block for the backward, which computes the rest again. Nothing of it changes a bit.
// Source: Korthikanti et al., "Reducing activation recomputation in large transformer models", 2205.05198.

#include <cstdint>

#include "policy/memory_options.h"

namespace temper::policy {

enum class Keep {
  kNothing,    // there is no backward
  kInputs,     // the block's input
  kAttention,  // all but the inside of the feed-forward
  kAll
};

struct KeepByBlock {
  // Of the first `count` blocks, which take turns with what the block behind them, if there is one, keeps for itself. That
  // one and the others keep all.
  Keep first = Keep::kAll;
  int64_t count = 0;

  Keep of(int64_t block) const { return block < count ? first : Keep::kAll; }
  bool has_backward() const { return first != Keep::kNothing; }
};

// The last block never recomputes, because its backward follows its forward, with no other block's between them.
KeepByBlock keep_for_backward(const MemoryOptions& options, int64_t blocks);
inline KeepByBlock keep_nothing(int64_t blocks) { return {Keep::kNothing, blocks}; }

}  // namespace temper::policy
