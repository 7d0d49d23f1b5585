#include "policy/sampler.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "policy/ops/softmax_row.h"

namespace temper {
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

// Ids by falling weight, lower ids first among equals: the top_k first, then the fewest of them that hold
// top_p.
std::vector<int32_t> nucleus(std::span<const float> weights, const SamplingParams& params) {
  std::vector<int32_t> ids(weights.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](int32_t a, int32_t b) { return weights[size_t(a)] > weights[size_t(b)]; });
  if (params.top_k > 0 && size_t(params.top_k) < ids.size()) ids.resize(size_t(params.top_k));
  double total = 0, sum = 0;
  for (int32_t id : ids) total += double(weights[size_t(id)]);
  for (size_t i = 0; i < ids.size(); ++i) {
    sum += double(weights[size_t(ids[i])]);
    if (sum >= params.top_p * total) {
      ids.resize(i + 1);
      break;
    }
  }
  return ids;
}

}  // namespace

SampledToken sample_token(std::span<const float> logits, const SamplingParams& params, double u) {
  TEMPER_CHECK(!logits.empty() && u >= 0 && u < 1, "u = {}", u);
  const float scale = params.temperature > 0 ? float(1 / params.temperature) : 1.0f;
  const double log_sum_exp = cpu::row_stats(logits.data(), int64_t(logits.size()), scale).log_sum_exp;
  const auto result = [&](int32_t id) {
    return SampledToken{id, float(double(logits[size_t(id)] * scale) - log_sum_exp)};
  };
  if (params.temperature == 0) return result(greedy(logits));

  static thread_local std::vector<float> weights;
  weights.assign(logits.begin(), logits.end());
  cpu::exp_row(weights.data(), int64_t(weights.size()), scale);
  if (params.top_k <= 0 && params.top_p >= 1) return result(int32_t(pick(weights, u)));
  const std::vector<int32_t> ids = nucleus(weights, params);
  std::vector<float> kept;
  for (int32_t id : ids) kept.push_back(weights[size_t(id)]);
  return result(ids[pick(kept, u)]);
}

}  // namespace temper
