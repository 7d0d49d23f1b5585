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
// Of these first blocks, `offloaded` ones compute nothing again. They are spread evenly over them. What they would compute again
// goes to the host's memory after the forward, and comes back before the backward.
// Source of offloading: Rhu et al., "vDNN", 1602.08124, section III.
struct KeepByBlock {
  Keep first = Keep::kAll;
  int64_t count = 0, offloaded = 0;

  Keep of(int64_t block) const { return recomputes(block) ? first : Keep::kAll; }
  bool has_backward() const { return first != Keep::kNothing; }
  bool offloads(int64_t block) const {
    return block < count && offloaded_before(block) < offloaded_before(block + 1);
  }
  int64_t offloaded_before(int64_t block) const { return count > 0 ? block * offloaded / count : 0; }
  bool recomputes(int64_t block) const { return block < count && !offloads(block); }
  // Whether blocks take a memory in turn for what is kept from `part` on, kAttention or kAll.
  bool shares(Keep part) const { return count > 0 && first < part; }
  // Whether a block has memory of its own for that.
  bool has_own(Keep part, int64_t block) const {
    return of(block) >= part && !(shares(part) && block <= count);
  }
};

// The last block never recomputes, because its backward follows its forward, with no other block's between them.
KeepByBlock keep_for_backward(const MemoryOptions& options, int64_t blocks);

// Errors: ConfigError where more blocks shall be offloaded than recompute, or where there is no GPU to offload them from.
void check_offloaded(const MemoryOptions& options, int64_t blocks, bool on_gpu);
inline KeepByBlock keep_nothing(int64_t blocks) { return {Keep::kNothing, blocks}; }

}  // namespace temper::policy
