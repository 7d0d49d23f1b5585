// Every parameter's gradient against central finite differences in f64.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>

#include "tests/policy/small_model.h"

namespace temper::policy {
namespace {

constexpr double kTemperature = 0.7;

// Five points: the error left is O(h⁴).
double finite_difference(const std::function<double()>& loss, double* weight, double h) {
  const double kept = *weight;
  const auto loss_at = [&](double value) {
    *weight = value;
    return loss();
  };
  const double slope =
      (8 * (loss_at(kept + h) - loss_at(kept - h)) - (loss_at(kept + 2 * h) - loss_at(kept - 2 * h))) /
      (12 * h);
  *weight = kept;
  return slope;
}

struct Case {
  bool tied;
  const char* recompute;
  int64_t recompute_blocks, logits_chunk;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << (c.tied ? "tied" : "untied") << ", recompute " << c.recompute << ", chunks of "
             << c.logits_chunk;
}

class Gradient : public testing::TestWithParam<Case> {};

TEST_P(Gradient, OfEveryParameterEqualsFiniteDifferences) {
  ModelConfig config = small_config(GetParam().tied);
  config.vocab_size = 11;
  config.hidden_size = 6;
  config.intermediate_size = 7;
  config.head_dim = 4;
  Policy policy = random_policy(config,
                                {.dtype = DType::kF64,
                                 .memory = {.recompute = GetParam().recompute,
                                            .recompute_blocks = GetParam().recompute_blocks,
                                            .logits_chunk = GetParam().logits_chunk}},
                                1, 0.5);
  const PackedTokens pack = random_pack({5, 1, 8, 3}, config.vocab_size, 2);
  policy.forward_backward(pack, loss_gradient, kTemperature);
  double* weights = policy.parameters().weights().data_ptr<double>();
  const double* gradients = policy.parameters().gradients().data_ptr<double>();
  for (const auto& p : policy.parameters().parameters()) {
    double largest = 0;
    for (int64_t i = 0; i < p.size; ++i) largest = std::max(largest, std::abs(gradients[p.offset + i]));
    EXPECT_GT(largest, 1e-3) << p.name;
    for (int64_t i = 0; i < p.size; ++i) {
      const double expected = finite_difference(
          [&] { return loss_of(policy.forward(pack, kTemperature), pack); }, weights + p.offset + i, 1e-3);
      const double scale = std::max(std::abs(expected), 1e-2 * largest);
      ASSERT_NEAR(gradients[p.offset + i], expected, 1e-6 * scale) << p.name << " [" << i << "]";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policy, Gradient,
                         testing::Values(Case{true, "none", 0, 512}, Case{false, "feed_forward", 1, 4},
                                         Case{true, "all", 0, 3}, Case{false, "all", 1, 512},
                                         Case{true, "feed_forward", 0, 512}));

// Cut down by top-k and top-p, where the same tokens stay kept: those that are not have no part in it.
TEST(Gradient, OfATruncatedDistributionEqualsFiniteDifferences) {
  Policy policy =
      random_policy(small_config(), {.dtype = DType::kF64, .memory = {.logits_chunk = 5}}, 1, 0.3);
  const PackedTokens pack = random_pack({9, 1, 20, 13}, 37, 2);
  const SamplingParams params = {.temperature = kTemperature, .top_p = 0.97, .top_k = 25};
  const auto kept = [](double log_prob) { return std::isfinite(log_prob); };
  const auto loss = [&] {
    const TokenScores scores = policy.forward(pack, params);
    double sum = 0;
    for (size_t t = 0; t < pack.ids.size(); ++t)
      if (pack.scored[t])
        sum += (kept(scores.log_prob[t]) ? scores.log_prob[t] : 0) + 0.3 * scores.entropy[t];
    return sum;
  };
  int64_t inside = 0, outside = 0;
  policy.forward_backward(
      pack,
      [&](int64_t, std::span<const double> log_prob, std::span<const double>, std::span<double> d_log_prob,
          std::span<double> d_entropy) {
        for (size_t k = 0; k < log_prob.size(); ++k) {
          ++(kept(log_prob[k]) ? inside : outside);
          d_log_prob[k] = kept(log_prob[k]) ? 1 : 7;  // which counts for nothing
          d_entropy[k] = 0.3;
        }
      },
      params);
  EXPECT_GT(inside, 3);
  EXPECT_GT(outside, 3);
  double* weights = policy.parameters().weights().data_ptr<double>();
  const double* gradients = policy.parameters().gradients().data_ptr<double>();
  for (const auto& p : policy.parameters().parameters())
    for (int64_t i = 0; i < p.size; i += std::max<int64_t>(1, p.size / 7)) {
      const double expected = finite_difference(loss, weights + p.offset + i, 1e-6);
      ASSERT_NEAR(gradients[p.offset + i], expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << p.name << " [" << i << "]";
    }
}

TEST(Gradient, IsAddedToWhatIsThere) {
  Policy policy = random_policy(small_config(), {.dtype = DType::kF64}, 1);
  const PackedTokens pack = random_pack({9, 4}, 37, 3);
  policy.forward_backward(pack, loss_gradient);
  const at::Tensor once = policy.parameters().gradients().clone();
  policy.forward_backward(pack, loss_gradient);
  EXPECT_TRUE(at::allclose(policy.parameters().gradients(), 2 * once, 1e-12, 1e-12));
}

}  // namespace
}  // namespace temper::policy
