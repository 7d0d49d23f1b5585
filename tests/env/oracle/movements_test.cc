#include <gtest/gtest.h>

#include <cmath>

#include "env/oracle/compare.h"
#include "env/oracle/reference.h"
#include "env/oracle/sensitivity.h"
#include "tests/env/oracle/oracle_task.h"

namespace temper::env {
namespace {

Movements movements_of(const Reference& reference, const std::vector<at::Tensor>& inputs, double error) {
  return {
      [&reference, inputs, error](uint64_t key) { return reference.rounded(inputs, {error, error}, key); },
      reference.wide(inputs), 3};
}

// (x + z) of opposite signs moves by the roundings of both, however small it is itself; a NaN is no movement.
TEST(Movements, AreThoseOfRoundedInputs) {
  const Reference sum(oracle_task("reference: 'x + z', inputs: {x: [n], z: [n]}, outputs: {y: [n]}"));
  Movements movements = movements_of(sum, {at::full({1000}, 64.0f), at::full({1000}, -63.0f)}, 0x1p-10);
  const at::Tensor first = movements.of(0);
  EXPECT_TRUE(movements.widen());
  EXPECT_TRUE((movements.of(0) >= first).all().item<bool>());
  EXPECT_GT(movements.of(0).mean().item<double>(), first.mean().item<double>());
  int patterns = 2;
  while (movements.widen()) ++patterns;
  EXPECT_EQ(patterns, 8);
  const at::Tensor moved = movements.of(0);
  EXPECT_NEAR(moved.max().item<double>(), 128 * 0x1p-10, 1e-3);
  EXPECT_GT(moved.mean().item<double>(), 100 * 0x1p-10);
  const float got[] = {1.1f, 1.1f, 1.1f};
  const double right[] = {1, 1, 1}, movement[] = {0.06, 0.04, NAN};
  EXPECT_EQ(compare_f32(got, right, 3, {1e-3, 1, movement, 2}).wrong, 2);
}

// Where few elements lie outside, chance may be why, and more patterns are made.
TEST(Movements, OfFewElementsHaveMorePatterns) {
  const Reference sum(oracle_task("reference: 'x + z', inputs: {x: [n], z: [n]}, outputs: {y: [n]}"));
  const std::vector<at::Tensor> inputs{at::full({1000}, 64.0f), at::full({1000}, -63.0f)};
  const auto patterns = [&](double share) {
    Movements movements = movements_of(sum, inputs, 0x1p-10);
    int asked = 0;
    EXPECT_FALSE(movements.explain(0, [&](const at::Tensor&) { return ++asked, share; }));
    return asked;
  };
  EXPECT_EQ(patterns(0.1), 8);
  EXPECT_EQ(patterns(1e-4), 32);
  Movements movements = movements_of(sum, inputs, 0x1p-10);
  int asked = 0;
  EXPECT_TRUE(movements.explain(0, [&](const at::Tensor&) { return ++asked < 3 ? 1e-4 : 0; }));
  EXPECT_EQ(asked, 3);
}

// Without roundings no pattern differs from the first.
TEST(Movements, OfLossesAloneHaveTwoPatterns) {
  const Reference sum(oracle_task("reference: 'x.sum(1)', inputs: {x: [n, m]}, outputs: {y: [n]}"));
  Movements movements = movements_of(sum, {at::full({2, 3}, 0.1f)}, 0);
  int asked = 0;
  EXPECT_FALSE(movements.explain(0, [&](const at::Tensor&) { return ++asked, 1e-4; }));
  EXPECT_EQ(asked, 2);
}

// Two distances from one far point are rounded apart, though what moves the point moves both.
TEST(Movements, AreThoseOfWhatIsComputedOnTheWay) {
  const Reference margin(oracle_task(
      "reference: 'torch.sqrt(torch.square(x - z).sum(1)) - torch.sqrt(torch.square(x - w).sum(1))', "
      "inputs: {x: [n, m], z: [n, m], w: [n, m]}, outputs: {y: [n]}"));
  const at::Tensor zero = at::zeros({1, 16});
  at::Tensor far = at::zeros({1, 16});
  far[0][3] = 1e4f;
  Movements movements = movements_of(margin, {far, zero, zero}, 0x1p-20);
  while (movements.widen()) {
  }
  const double least = 1e4 * 0x1p-20;
  EXPECT_GT(movements.of(0).item<double>(), least);
  EXPECT_LT(movements.of(0).item<double>(), 8 * least);
}

// What a fused attention rounds on its way are probabilities. They are no result of any op, and yet each term of a sum
// that cancels is off by its own rounding.
TEST(Movements, AreThoseOfTheProbabilitiesInAFusedAttention) {
  const Reference attention(oracle_task(
      "reference: 'torch.scaled_dot_product_attention(q, k, v)', inputs: {q: [n, m], k: [n, m], v: [n, m]}, "
      "outputs: {y: [n, m]}"));
  const at::Tensor zero = at::zeros({2, 64}), far = at::full({2, 64}, 64.0f);
  far[1].neg_();
  Movements movements(
      [&](uint64_t key) { return attention.rounded({zero, zero, far}, {0x1p-24, 0x1p-9}, key); },
      attention.wide({zero, zero, far}), 3);
  while (movements.widen()) {
  }
  EXPECT_NEAR(movements.of(0).max().item<double>(), 64 * 0x1p-9, 1e-3);
}

// What only looks at a tensor from another side rounds nothing.
TEST(Movements, AreNoneWhereNothingIsComputed) {
  const Reference turned(oracle_task("reference: 'x.t()', inputs: {x: [n, m]}, outputs: {y: [m, n]}"));
  const at::Tensor x = at::full({4, 4}, 2.0f);
  Movements movements = movements_of(turned, {x}, 0x1p-20);
  while (movements.widen()) {
  }
  EXPECT_LE(movements.of(0).max().item<double>(), 2 * 0x1p-20);  // of the input alone
}

TEST(Movements, CountTheTermsOfTheLongestSum) {
  const Task task = oracle_task("reference: 'x.sum(1)', inputs: {x: [n, m]}, outputs: {y: [n]}");
  EXPECT_DOUBLE_EQ(rounding_errors(task, {{"n", 4}, {"m", 256}}).inputs, 0x1p-20);
  EXPECT_DOUBLE_EQ(rounding_errors(task, {{"n", 4}, {"m", 256}}).results, 0x1p-20);
  EXPECT_DOUBLE_EQ(rounding_errors(task, {{"n", 1}, {"m", 1}}).inputs, 0x1p-24);
}

// A baseline in bf16 rounds each result to bf16; beside an f32 input it computes in f32.
TEST(Movements, RoundResultsAsTheBaselinesTypeDoes) {
  Task task = oracle_task("reference: 'x + z', inputs: {x: [n], z: [n]}, outputs: {y: [n]}");
  const auto results = [&task](ElementType x, ElementType z) {
    task.inputs[0].type = x;
    task.inputs[1].type = z;
    return rounding_errors(task, {{"n", 1}}).results;
  };
  EXPECT_DOUBLE_EQ(results(ElementType::kBF16, ElementType::kBF16), 0x1p-9);
  EXPECT_DOUBLE_EQ(results(ElementType::kF16, ElementType::kI32), 0x1p-12);
  EXPECT_DOUBLE_EQ(results(ElementType::kBF16, ElementType::kF32), 0x1p-24);
  EXPECT_DOUBLE_EQ(results(ElementType::kI32, ElementType::kI32), 0x1p-24);
  task.inputs[0].type = task.inputs[1].type = ElementType::kBF16;
  EXPECT_DOUBLE_EQ(rounding_errors(task, {{"n", 1}}).inputs, 0x1p-24);
}

}  // namespace
}  // namespace temper::env
