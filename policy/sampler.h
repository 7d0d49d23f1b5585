#pragma once
// From logits to a token.

#include <cstdint>
#include <span>

#include "policy/ops/truncation.h"

namespace temper::policy {

struct SamplingParams {
  double temperature = 1;  // 0: greedy
  double top_p = 1;
  int64_t top_k = 0;  // 0: all
  bool operator==(const SamplingParams&) const = default;

  // The truncation of a row's tokens, which always keeps the greedy one.
  Truncation truncation() const { return temperature > 0 ? Truncation{top_p, top_k} : Truncation{}; }
};

struct SampledToken {
  int32_t id;
  // Under the distribution that was drawn from: that at this temperature (1 where greedy), what top-k and
  // top-p leave of it adding up to 1. Training computes the same.
  float log_prob;
};

// Draws a token by the uniform number `u` in [0, 1). The greedy token is the largest logit with the lowest id. The
// result depends on this row alone.
SampledToken sample_token(std::span<const float> logits, const SamplingParams& params, double u);

}  // namespace temper::policy
