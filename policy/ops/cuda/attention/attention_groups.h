#pragma once
// How a pack of sequences is divided into calls of cuDNN. Each call has sequences of similar lengths and is padded
// with empty sequences to one of few shapes, since every shape needs a plan of its own.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/ops/attention_shape.h"

namespace temper::policy::cuda {

// The next power of two: empty sequences cost nothing but scores, a plan 0.1 s.
int64_t sequence_bucket(int64_t n);

// Multiples of 256 up to 2,048, then four an octave.
int64_t length_bucket(int64_t length);

// Sequences of a pack for one call, or for `parts` calls on as many parts of the heads.
struct AttentionGroup {
  std::vector<int32_t> members;  // in the order of the pack
  int64_t length = 0;            // bucket of the longest
  int64_t parts = 1;
  size_t described_at = 0;  // see describe

  int64_t sequences() const { return sequence_bucket(int64_t(members.size())); }
};

// All sequences [starts[s], starts[s+1]), none of them empty.
AttentionGroup whole_pack(const std::vector<int32_t>& starts);

// The deterministic backward keeps a whole bf16 matrix of scores a head and sequence. The fewest calls for
// which these stay under `most_bytes`, where calls of four query heads of one sequence do.
std::vector<AttentionGroup> backward_groups(const std::vector<int32_t>& starts, const AttentionShape& shape,
                                            int64_t most_bytes);

// Bytes of the scores of one call.
int64_t score_bytes(const AttentionGroup& group, const AttentionShape& shape);

// Appends what cuDNN reads of a group, and notes where: n + 1 offsets of elements (i64) into rows of qk, then
// as many into those of qkv, out and lse, then n lengths (i32), n = group.sequences(). Filled-up ones are
// empty, at the end.
void describe(AttentionGroup& group, const std::vector<int32_t>& starts, const AttentionShape& shape,
              std::vector<std::byte>& bytes);

}  // namespace temper::policy::cuda
