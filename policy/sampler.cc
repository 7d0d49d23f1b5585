#include "policy/sampler.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "policy/ops/cpu/softmax_row.h"

namespace temper::policy {
namespace {

int32_t greedy(std::span<const float> logits) {
  return int32_t(std::max_element(logits.begin(), logits.end()) - logits.begin());  // the first of equals
}

// The index where the running sum passes u · total; the last with any weight where rounding leaves none.
size_t pick(std::span<const float> weights, double u) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last = i;
    sum += double(weights[i]);
    if (sum > u * total) return i;
  }
  return last;
}

}  // namespace

SampledToken sample_token(std::span<const float> logits, const SamplingParams& params, double u) {
  TEMPER_CHECK(!logits.empty() && u >= 0 && u < 1, "u = {}", u);
  const float scale = params.temperature > 0 ? float(1 / params.temperature) : 1.0f;
  const auto size = int64_t(logits.size());
  const bool truncated = params.truncation().any();
  const float cut = truncated ? cpu::row_cut(logits.data(), size, scale, params.truncation())
                              : -std::numeric_limits<float>::infinity();
  const double log_sum_exp = truncated ? cpu::kept_stats(logits.data(), size, scale, cut).log_sum_exp
                                       : cpu::row_stats(logits.data(), size, scale).log_sum_exp;
  const auto result = [&](int32_t id) {
    return SampledToken{id, float(double(logits[size_t(id)] * scale) - log_sum_exp)};
  };
  if (params.temperature == 0) return result(greedy(logits));

  static thread_local std::vector<float> weights;
  weights.assign(logits.begin(), logits.end());
  cpu::exp_row(weights.data(), size, scale);
  for (size_t i = 0; truncated && i < weights.size(); ++i)
    if (logits[i] < cut) weights[i] = 0;
  return result(int32_t(pick(weights, u)));
}

}  // namespace temper::policy
