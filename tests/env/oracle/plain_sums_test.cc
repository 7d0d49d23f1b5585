#include "env/oracle/plain_sums.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "env/oracle/compare.h"
#include "env/oracle/reference.h"
#include "env/oracle/sensitivity.h"
#include "tests/env/oracle/oracle_task.h"

namespace temper::env {
namespace {

constexpr int64_t kTerms = 4096;
constexpr double kTolerance = 1e-5;

Reference reference(const std::string& expression, const std::string& inputs, const std::string& output) {
  return Reference(
      oracle_task("reference: '" + expression + "', inputs: {" + inputs + "}, outputs: {y: " + output + "}"));
}

// How many elements the judge holds for wrong on a plain draw, and how many before it asks what sums lose.
struct Wrong {
  int64_t strictly, in_the_end;
};
Wrong wrong(const Reference& right, const std::vector<at::Tensor>& inputs, const at::Tensor& got) {
  Movements movements([&](uint64_t key) { return right.rounded(inputs, kLossesAlone, key); },
                      right.wide(inputs), 3);
  const at::Tensor expected = right.wide(inputs)[0], given = got.contiguous();
  Bound bound{.relative = kTolerance, .scale = expected.abs().mean().item<double>()};
  const auto compared = [&] {
    return compare_f32(given.const_data_ptr<float>(), expected.const_data_ptr<double>(), expected.numel(),
                       bound)
        .wrong;
  };
  Wrong found{compared(), 0};
  bound.times = kMovements;
  movements.explain(0, [&](const at::Tensor& movement) {
    bound.movement = movement.const_data_ptr<double>();
    found.in_the_end = compared();
    return double(found.in_the_end) / double(expected.numel());
  });
  return found;
}

// Of the last dimension, of size 1 afterwards.
at::Tensor plain_sum(const at::Tensor& terms, int64_t count) {
  const at::Tensor rows = terms.contiguous();
  at::Tensor sums = at::zeros({rows.size(0), 1});
  for (int64_t i = 0; i < rows.size(0); ++i) {
    const float* row = rows.const_data_ptr<float>() + i * rows.size(1);
    for (int64_t j = 0; j < count; ++j) sums.mutable_data_ptr<float>()[i] += row[j];
  }
  return sums;
}
at::Tensor plain_sum(const at::Tensor& terms) { return plain_sum(terms, terms.size(1)); }

// One is far above the others, of which each is 2^-25 of it once exp is taken.
at::Tensor dominated() {
  at::Tensor x = at::full({2, kTerms}, float(-25 * M_LN2));
  x.select(1, 0).zero_();
  return x;
}

at::Tensor normal() {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(5);
  return at::randn({2, kTerms}, generator, at::kFloat);
}

TEST(PlainSums, RoundTheirTermsToTheLastPlaceOfTheSum) {
  const auto loss = [](const std::vector<double>& terms) {
    return loss_of_sum(at::tensor(terms, at::kDouble), {0}).item<double>();
  };
  constexpr double kLast = 0x1p-23;
  EXPECT_DOUBLE_EQ(loss({1, kLast / 4, kLast / 4, kLast / 4}), -0.75 * kLast);
  EXPECT_DOUBLE_EQ(loss({1, kLast / 4, -kLast / 4}), 0);
  EXPECT_DOUBLE_EQ(loss({1, 0.75 * kLast}), 0.25 * kLast);
  EXPECT_DOUBLE_EQ(loss({1, 5 * kLast}), 0);
  EXPECT_DOUBLE_EQ(loss({1, -1, kLast / 4}), -kLast / 4);  // of the largest term, where all of it cancels
  EXPECT_DOUBLE_EQ(loss({0, 0}), 0);
  std::vector<double> many(1 << 20, kLast / 4);
  many[0] = 1;
  EXPECT_NEAR(loss(many), -0x1p-8, 0x1p-12);  // no more than that, of 2^-5
}

TEST(PlainSums, MayLoseWhatOneTermDominates) {
  const at::Tensor x = dominated(), e = x.exp(), sum = plain_sum(e);
  ASSERT_TRUE(sum.eq(1).all().item<bool>());
  const auto check = [&x](const std::string& op, const std::string& output, const at::Tensor& got) {
    const Wrong found = wrong(reference(op, "x: [n, m]", output), {x}, got);
    EXPECT_GT(found.strictly, 0) << op;
    EXPECT_EQ(found.in_the_end, 0) << op;
  };
  check("torch.softmax(x, 1)", "[n, m]", e / sum);
  check("torch.softmax(x.t(), 0).t()", "[n, m]", e / sum);
  check("torch.exp(x).sum(1)", "[n]", sum.squeeze(1));
  check("torch.exp(x).mean([1])", "[n]", sum.squeeze(1) / kTerms);
  check("torch.exp(x).sum().reshape(1)", "[1]", at::full({1}, 2.0f));
  check("torch.logsumexp(x, 1) + 1", "[n]", sum.log().squeeze(1) + 1);
  check("torch.log_softmax(x, 1)[:, 0] + 1", "[n]", (x - sum.log() + 1).select(1, 0));
}

// All are rounded in one direction, too.
TEST(PlainSums, MayRoundNearlyEqualTermsAlike) {
  const at::Tensor x = 1.0f + at::full({2, kTerms}, 0x1p-13f) * normal().abs().clamp_max(0.9);
  const Wrong found = wrong(reference("x.sum(1)", "x: [n, m]", "[n]"), {x}, plain_sum(x).squeeze(1));
  EXPECT_GT(found.strictly, 0);
  EXPECT_EQ(found.in_the_end, 0);
}

TEST(PlainSums, MayLoseSquaresInNorms) {
  at::Tensor x = normal();
  x.select(1, 0).fill_(5800);  // 2^25
  const at::Tensor ones = at::ones({kTerms}), zeros = at::zeros({kTerms});
  const at::Tensor d = x - plain_sum(x) / kTerms, rms = x * at::rsqrt(plain_sum(x * x) / kTerms + 1e-5f),
                   norm = d * at::rsqrt(plain_sum(d * d) / kTerms + 1e-5f);
  const Wrong of_rms =
      wrong(reference("x * torch.rsqrt((x * x).mean(1) + 1e-5)[:, None]", "x: [n, m]", "[n, m]"), {x}, rms);
  EXPECT_GT(of_rms.strictly, 0);
  EXPECT_EQ(of_rms.in_the_end, 0);
  const std::string affine = "x: [n, m], w: [m], b: [m]";
  for (const std::string op : {"torch.layer_norm(x, [x.size(1)], w, b, 1e-5)",
                               "torch.group_norm(x[:, None], 1, w[:1], b[:1], 1e-5)[:, 0]"}) {
    const Wrong found = wrong(reference(op, affine, "[n, m]"), {x, ones, zeros}, norm);
    EXPECT_GT(found.strictly, 0) << op;
    EXPECT_EQ(found.in_the_end, 0) << op;
  }
}

// The errors of other ops are made for the longest dimension. A sum over two dimensions has more terms than that.
TEST(PlainSums, RoundOnceForEachTermOfSeveralDimensions) {
  const Reference mean = reference("x.mean([1, 2])", "x: [n, m, m]", "[n]");
  const at::Tensor x = at::ones({64, 64, 64});
  const auto moved = [&](double inputs) {
    const std::vector<at::Tensor> rounded = mean.rounded({x}, {.inputs = inputs, .results = 0}, 1);
    return (rounded[0] - 1).abs().max().item<double>();
  };
  EXPECT_NEAR(moved(0x1p-24 * 8), 0x1p-24 * 64, 0x1p-24 * 8);
  EXPECT_LT(moved(0x1p-24 * 64), 0x1p-24 * 8);
  EXPECT_LT(moved(0), 0x1p-40);  // on plain draws
}

// A running sum that is small after large ones has the errors of those.
TEST(PlainSums, RunOnWithTheErrorsOfLargerOnes) {
  at::Tensor x = normal();
  x.select(1, 5).fill_(1e4f);
  x.select(1, kTerms - 2).fill_(-1e4f);
  at::Tensor got = at::empty_like(x);
  for (int64_t i = 0; i < 2; ++i) {
    float sum = 0;
    for (int64_t j = 0; j < kTerms; ++j)
      got.mutable_data_ptr<float>()[i * kTerms + j] = sum += x.const_data_ptr<float>()[i * kTerms + j];
  }
  const Reference right = reference("torch.cumsum(x, 1)", "x: [n, m]", "[n, m]");
  const at::Tensor exact = right.wide({x})[0],
                   off = (got.to(at::kDouble) - exact).abs().select(1, kTerms - 1);
  const auto moved = [&](RoundingErrors errors) {
    at::Tensor most = at::zeros_like(exact);
    for (uint64_t key = 0; key < 8; ++key)
      most = at::maximum(most, (right.rounded({x}, errors, key)[0] - exact).abs());
    return most.select(1, kTerms - 1) * kMovements;
  };
  const double rounding = 0x1p-24 * 64;
  EXPECT_TRUE(off.gt(1e-3).all().item<bool>());  // of sums that are some tens
  EXPECT_TRUE(moved({.inputs = rounding, .results = rounding}).ge(off).all().item<bool>());
  EXPECT_TRUE(moved({.inputs = rounding, .results = rounding}).le(0.5).all().item<bool>());
  EXPECT_TRUE(moved(kLossesAlone).le(0.1).all().item<bool>());
}

TEST(PlainSums, RunningOnesRoundNearlyEqualTermsAlike) {
  const at::Tensor x = 1.0f + at::full({2, kTerms}, 0x1p-13f) * normal().abs().clamp_max(0.9);
  at::Tensor got = at::empty_like(x);
  for (int64_t j = 0; j < kTerms; ++j)
    got.select(1, j).copy_(j == 0 ? x.select(1, 0) : got.select(1, j - 1) + x.select(1, j));
  const Reference right = reference("torch.cumsum(x, 1)", "x: [n, m]", "[n, m]");
  const Wrong found = wrong(right, {x}, got);
  EXPECT_GT(found.strictly, 0);
  EXPECT_EQ(found.in_the_end, 0);
  EXPECT_GT(wrong(right, {x}, got * 0.999f).in_the_end, x.numel() * 9 / 10);
}

// Where no term dominates and terms differ, nothing is excused: of 4,096 terms one that is left out shows.
TEST(PlainSums, LeaveNoTermOut) {
  const at::Tensor x = normal() * 0.1f, e = x.exp();
  const at::Tensor part = plain_sum(e, kTerms - 1), twice = plain_sum(e) + e.narrow(1, 3, 1);
  const Reference softmax = reference("torch.softmax(x, 1)", "x: [n, m]", "[n, m]");
  EXPECT_EQ(wrong(softmax, {x}, e / plain_sum(e)).in_the_end, 0);
  EXPECT_EQ(wrong(softmax, {x}, e / part).in_the_end, 2 * kTerms);
  EXPECT_EQ(wrong(softmax, {x}, e / twice).in_the_end, 2 * kTerms);
  const Reference sum = reference("torch.exp(x).sum(1)", "x: [n, m]", "[n]");
  EXPECT_EQ(wrong(sum, {x}, part.squeeze(1)).in_the_end, 2);
  const Reference log_sum = reference("torch.logsumexp(x, [1], False)", "x: [n, m]", "[n]");
  EXPECT_EQ(wrong(log_sum, {x}, part.log().squeeze(1)).in_the_end, 2);
  // A plain sum of equal terms that its last place holds is exact.
  const Reference clamped = reference("torch.clamp(x, 0, 1).mean(1)", "x: [n, m]", "[n]");
  const at::Tensor larger = at::full({2, kTerms}, 3.0f);
  EXPECT_EQ(wrong(clamped, {larger}, at::full({2}, 1 - 1.0f / kTerms)).in_the_end, 2);
  const at::Tensor dominated_x = dominated();  // beyond what is lost, nothing is excused there either
  EXPECT_GT(wrong(softmax, {dominated_x}, 0.9997f * at::softmax(dominated_x, 1)).in_the_end, 0);
}

// What is written out is the same function: with sums that lose next to nothing, all of them give what they gave.
TEST(PlainSums, OfOpsAreThoseOfTheOps) {
  const at::Tensor x = at::randn({2, 8, 3, 5}), w = at::rand({8}) + 0.5, b = at::randn({8});
  at::Tensor masked = x.clone();
  masked.select(3, 2).fill_(-INFINITY);
  const auto check = [](const std::string& op, const std::vector<at::Tensor>& inputs) {
    const Reference same = reference(op, "x: [n, n, n, n], w: [n], b: [n]", "[n, n, n, n]");
    const at::Tensor exact = same.wide(inputs)[0], rounded = same.rounded(inputs, {}, 1)[0];
    ASSERT_EQ(exact.sizes(), rounded.sizes()) << op;
    EXPECT_TRUE(at::allclose(exact, rounded, 1e-6, 1e-6, true)) << op;
    EXPECT_FALSE(exact.equal(rounded)) << op;
  };
  const std::vector<at::Tensor> inputs{x, w, b};
  for (const std::string op :
       {"torch.softmax(x, 2) * w[None, :, None, None]", "torch.log_softmax(x, -1)",
        "torch.logsumexp(x, [1, 3])", "torch.logsumexp(x, 2, True)", "torch.group_norm(x, 4, w, b, 1e-5)",
        "torch.group_norm(x, 2)", "torch.layer_norm(x, [x.size(2), x.size(3)])",
        "torch.layer_norm(x.transpose(1, 3), [x.size(1)], w, b, 1e-3)", "x.sum([0, 2])", "x.mean()",
        "torch.sum(x, 1, True)"})
    check(op, inputs);
  check("torch.softmax(x, 3)", {masked, w, b});
  check("torch.logsumexp(x, 3)", {masked, w, b});
}

}  // namespace
}  // namespace temper::env
