#pragma once
// From logits to a token.

#include <cstdint>
#include <span>

namespace temper {

struct SamplingParams {
  double temperature = 1;  // 0: greedy
  double top_p = 1;
  int64_t top_k = 0;  // 0: all
  bool operator==(const SamplingParams&) const = default;
};

struct SampledToken {
  int32_t id;
  // Under the whole distribution at this temperature (1 where greedy), before top-k and top-p: what training
  // computes.
  float log_prob;
};

// `u` in [0, 1) decides; ties in logits go to the lower id. Row by row: independent of batch neighbours.
SampledToken sample_token(std::span<const float> logits, const SamplingParams& params, double u);

}  // namespace temper
