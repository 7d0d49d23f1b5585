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

// Where sequences lie: the queries of sequence s in rows [queries[s], queries[s+1]) of the pack, its keys, which end with its
// own, in rows [keys[s], keys[s+1]) of the pack or of copies. No sequence is empty.
struct AttentionRows {
  std::vector<int32_t> queries, keys;  // [S + 1] each

  int32_t query_count(int32_t s) const { return queries[size_t(s) + 1] - queries[size_t(s)]; }
  int32_t key_count(int32_t s) const { return keys[size_t(s) + 1] - keys[size_t(s)]; }
};

// Sequences of a pack for one call, or for `parts` calls on as many parts of the heads.
struct AttentionGroup {
  std::vector<int32_t> members;  // in the order of the pack
  int64_t length = 0, keys = 0;  // buckets of the most queries, and of the most keys
  int64_t parts = 1;
  size_t described_at = 0;  // see describe

  int64_t sequences() const { return sequence_bucket(int64_t(members.size())); }
};

// All sequences.
AttentionGroup whole_pack(const AttentionRows& rows);

// The deterministic backward keeps a whole bf16 matrix of scores a head and sequence. The fewest calls for
// which these stay under `most_bytes`, where calls of four query heads of one sequence do.
std::vector<AttentionGroup> backward_groups(const AttentionRows& rows, const AttentionShape& shape,
                                            int64_t most_bytes);

// Bytes of the scores of one call.
int64_t score_bytes(const AttentionGroup& group, const AttentionShape& shape);

// Appends what cuDNN reads of a group, and notes where: n + 1 offsets of elements (i64) into rows of qk, then
// as many into those of qkv, out, lse and copies of keys, then n numbers of queries (i32) and n of keys,
// n = group.sequences(). Filled-up ones are empty, at the end.
void describe(AttentionGroup& group, const AttentionRows& rows, const AttentionShape& shape,
              std::vector<std::byte>& bytes);

}  // namespace temper::policy::cuda
