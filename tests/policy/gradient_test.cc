// Every parameter's gradient against central finite differences in f64.

#include <gtest/gtest.h>

#include <ostream>

#include "tests/policy/small_model.h"

namespace temper {
namespace {

constexpr double kTemperature = 0.7;

// Five points: the error left is O(h⁴).
double finite_difference(Policy& policy, const PackedTokens& pack, double* weight) {
  const double kept = *weight, h = 1e-3;
  const auto loss_at = [&](double value) {
    *weight = value;
    return loss_of(policy.forward(pack, kTemperature), pack);
  };
  const double slope =
      (8 * (loss_at(kept + h) - loss_at(kept - h)) - (loss_at(kept + 2 * h) - loss_at(kept - 2 * h))) /
      (12 * h);
  *weight = kept;
  return slope;
}

struct Case {
  bool tied;
  bool recompute;
  int64_t logits_chunk;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << (c.tied ? "tied" : "untied") << (c.recompute ? ", recompute" : "") << ", chunks of "
             << c.logits_chunk;
}

class Gradient : public testing::TestWithParam<Case> {};

TEST_P(Gradient, OfEveryParameterEqualsFiniteDifferences) {
  ModelConfig config = small_config(GetParam().tied);
  config.vocab_size = 11;
  config.hidden_size = 6;
  config.intermediate_size = 7;
  config.head_dim = 4;
  Policy policy = random_policy(
      config,
      {.dtype = DType::kF64, .recompute = GetParam().recompute, .logits_chunk = GetParam().logits_chunk}, 1,
      0.5);
  const PackedTokens pack = random_pack({5, 1, 8, 3}, config.vocab_size, 2);
  policy.forward_backward(pack, loss_gradient, kTemperature);
  double* weights = policy.parameters().weights().data_ptr<double>();
  const double* gradients = policy.parameters().gradients().data_ptr<double>();
  for (const auto& p : policy.parameters().parameters()) {
    double largest = 0;
    for (int64_t i = 0; i < p.size; ++i) largest = std::max(largest, std::abs(gradients[p.offset + i]));
    EXPECT_GT(largest, 1e-3) << p.name;
    for (int64_t i = 0; i < p.size; ++i) {
      const double expected = finite_difference(policy, pack, weights + p.offset + i);
      const double scale = std::max(std::abs(expected), 1e-2 * largest);
      ASSERT_NEAR(gradients[p.offset + i], expected, 1e-6 * scale) << p.name << " [" << i << "]";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policy, Gradient,
                         testing::Values(Case{true, false, 512}, Case{false, false, 4}, Case{true, true, 3},
                                         Case{false, true, 512}));

TEST(Gradient, IsAddedToWhatIsThere) {
  Policy policy = random_policy(small_config(), {.dtype = DType::kF64}, 1);
  const PackedTokens pack = random_pack({9, 4}, 37, 3);
  policy.forward_backward(pack, loss_gradient);
  const at::Tensor once = policy.parameters().gradients().clone();
  policy.forward_backward(pack, loss_gradient);
  EXPECT_TRUE(at::allclose(policy.parameters().gradients(), 2 * once, 1e-12, 1e-12));
}

}  // namespace
}  // namespace temper
