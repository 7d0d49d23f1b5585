#pragma once
// The order in which a decoder's output head computes the scored tokens of a pack, the same on every device.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/calls.h"

namespace temper::policy {

// `forward(begin, rows)` computes the scored tokens from number `begin` on and returns a chunk with their log_prob, entropy,
// d_log_prob and d_entropy, [rows] each. With a gradient, `backward(chunk)` follows each chunk's forward, because the next
// forward overwrites what it reads. Where the loss wants to see all log-probs first, all chunks are computed once more.
template <class Forward, class Backward>
TokenScores score_in_chunks(const PackedTokens& pack, std::span<const int32_t> scored, int64_t chunk_rows,
                            const ScoreGradient* gradient, const Forward& forward, const Backward& backward) {
  const auto forward_from = [&](size_t begin) {
    return forward(begin, std::min(scored.size() - begin, size_t(chunk_rows)));
  };
  if (gradient && gradient->foresight()) {
    std::vector<double> log_probs;
    while (log_probs.size() < scored.size()) {
      const std::vector<double> more = forward_from(log_probs.size()).log_prob;
      log_probs.insert(log_probs.end(), more.begin(), more.end());
    }
    gradient->foresight()(log_probs);
  }
  TokenScores all{std::vector<double>(pack.ids.size()), std::vector<double>(pack.ids.size())};
  for (size_t begin = 0; begin < scored.size(); begin += size_t(chunk_rows)) {
    auto chunk = forward_from(begin);
    for (size_t r = 0; r < chunk.log_prob.size(); ++r) {
      all.log_prob[size_t(scored[begin + r])] = chunk.log_prob[r];
      all.entropy[size_t(scored[begin + r])] = chunk.entropy[r];
    }
    if (!gradient) continue;
    gradient->of_chunk()(int64_t(begin), chunk.log_prob, chunk.entropy, chunk.d_log_prob, chunk.d_entropy);
    backward(chunk);
  }
  return all;
}

}  // namespace temper::policy
