#pragma once
// Rows of tokens → packs that fit into one forward and backward.

#include <cstdint>
#include <span>
#include <vector>

#include "policy/policy.h"
#include "rollout/trajectory.h"

namespace temper::trainer {

// A row and which of its tokens are scored.
struct PackRow {
  std::span<const int32_t> ids;     // [T]
  std::span<const uint8_t> scored;  // [T]
};

// How rows are put into packs.
struct Packing {
  int64_t max_tokens;  // computed in a pack; a longer row has a pack of its own
  // Tokens with which a row and the row before it in its pack begin are computed once, up to the token that predicts the row's
  // first scored one.
  bool share_prompts = false;
};

// Where prompts are shared, the rows of a pack have at most so many tokens for each of max_tokens, common ones counted in each
// row: attention reads copies of their keys (policy/ops/shared_keys.h).
constexpr int64_t kMostKeyCopies = 4;

struct ScoredPlace {
  size_t row;  // index into the rows given
  int32_t t;   // position in that row
};

struct Pack {
  policy::PackedTokens tokens;
  std::vector<ScoredPlace> scored;  // the place of the pack's k-th scored token
};

// Packs rows in order. The number of packs is the smallest possible, and they are about equally full.
std::vector<Pack> make_packs(const std::vector<PackRow>& rows, const Packing& packing);

// The rows of each rank: dealt so that the costs come out even, the dearest first.
std::vector<std::vector<size_t>> deal_rows(const std::vector<double>& costs, int ranks);

// The same for rows, whose costs are the operations of forward and backward. Where prompts are shared, neighbours that have one
// stay together, in as many parts as let the dearest rank end first.
std::vector<std::vector<size_t>> deal_rows(const policy::Policy& policy, const std::vector<PackRow>& rows,
                                           const Packing& packing, int ranks);

// This rank's packs of rows that the policy's ranks share, and empty ones where another rank has more: each
// is a call of forward_backward that all ranks make.
std::vector<Pack> make_shared_packs(const policy::Policy& policy, const std::vector<PackRow>& rows,
                                    const Packing& packing);

// Log-probs of the scored tokens under the present weights, [row][T], 0 elsewhere; on all ranks.
std::vector<std::vector<float>> score_rows(policy::Policy& policy, const std::vector<PackRow>& rows,
                                           const Packing& packing, const policy::SamplingParams& params);

// 1 where a response token of the row's own is.
std::vector<uint8_t> response_mask(const rollout::Segment& row);

}  // namespace temper::trainer
