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

// The first `count` blocks keep `first` and compute the rest again, in one memory for it that they take in turn. The others keep
// all. The first of the others keeps its own in that memory, too: its forward comes after theirs, and its backward before.
struct KeepByBlock {
  Keep first = Keep::kAll;
  int64_t count = 0;

  Keep of(int64_t block) const { return block < count ? first : Keep::kAll; }
  bool has_backward() const { return first != Keep::kNothing; }
  // Whether blocks take a memory in turn for what is kept from `part` on, kAttention or kAll.
  bool shares(Keep part) const { return of(0) < part; }
  // Whether a block has memory of its own for that.
  bool has_own(Keep part, int64_t block) const {
    return of(block) >= part && !(shares(part) && block == count);
  }
};

// The last block never recomputes, because its backward follows its forward, with no other block's between them.
KeepByBlock keep_for_backward(const MemoryOptions& options, int64_t blocks);
inline KeepByBlock keep_nothing(int64_t blocks) { return {Keep::kNothing, blocks}; }

}  // namespace temper::policy
