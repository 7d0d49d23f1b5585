#pragma once
// From logits to a token.

#include <cstdint>
#include <span>

#include "policy/ops/truncation.h"

namespace temper {

struct SamplingParams {
  double temperature = 1;  // 0: greedy
  double top_p = 1;
  int64_t top_k = 0;  // 0: all
  bool operator==(const SamplingParams&) const = default;

  // What is left of a row's tokens; the greedy one is always among them.
  Truncation truncation() const { return temperature > 0 ? Truncation{top_p, top_k} : Truncation{}; }
};

struct SampledToken {
  int32_t id;
  // Under the distribution that was drawn from: that at this temperature (1 where greedy), what top-k and
  // top-p leave of it adding up to 1. Training computes the same.
  float log_prob;
};

// `u` in [0, 1) decides; of the largest logits the greedy token is that of the lowest id. Row by row:
// independent of batch neighbours.
SampledToken sample_token(std::span<const float> logits, const SamplingParams& params, double u);

}  // namespace temper
