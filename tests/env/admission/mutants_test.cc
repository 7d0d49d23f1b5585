#include "env/admission/trial/mutants.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "env/admission/trial/mutant_trial.h"
#include "env/admission/trial/trial.h"
#include "env/admission/trial/trial_case.h"

namespace temper::env {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;

Task mutated_task(const std::string& keys) {
  return parse_tasks(
             "defaults: {inputs: {x: [n, m]}, outputs: {y: [n, m]}, check: [{n: 3, m: 5}, {n: 7, m: 12}], "
             "timed: {n: 64, m: 48}}\ntasks:\n  - {name: t, " +
                 keys + "}\n",
             "mutants_test.cc")
      .at(0);
}

std::vector<std::string> mutant_names(const std::string& keys) {
  std::vector<std::string> names;
  for (const Mutant& mutant : mutants_of(mutated_task(keys))) names.push_back(mutant.name);
  return names;
}

std::vector<MutantFate> mutant_fates(const std::string& keys, int64_t draws = 20) {
  const Task task = mutated_task(keys);
  TrialCases cases(task, drawer_on(at::kCPU));
  return try_mutants(task, cases, draws, true);
}

MutantFate mutant_fate(const std::string& mutant, const std::string& keys) {
  for (const MutantFate& fate : mutant_fates(keys))
    if (fate.mutant == mutant) return fate;
  ADD_FAILURE() << mutant << " is no short-cut of " << keys;
  return {};
}

at::Tensor mutant_answer(const std::string& mutant, const std::string& keys, const at::Tensor& x) {
  const Task task = mutated_task(keys);
  for (const Mutant& one : mutants_of(task))
    if (one.name == mutant) return one.answer({{x}, task.check_shapes[0]})[0];
  ADD_FAILURE() << mutant << " is no short-cut of " << keys;
  return x;
}

constexpr const char* kSoftmaxOfRows = "reference: 'torch.softmax(x, 1)'";
constexpr const char* kSumOfRows = "reference: x.sum(1), outputs: {y: [n]}";
constexpr const char* kNormOfRows =
    "reference: \"def reference(x):\\n    s = x.mean(1)\\n    t = torch.square(x - s[:, None]).mean(1)\\n"
    "    return (x - s[:, None]) * torch.rsqrt(t + 1e-5)[:, None]\\n\"";

TEST(Mutants, EachReferenceHasThoseOfItsOperations) {
  EXPECT_THAT(mutant_names(kSoftmaxOfRows), IsSupersetOf({"softmax without maximum", "maximum of half a row",
                                                          "half the bits of x", "known range of x"}));
  EXPECT_THAT(mutant_names(kSumOfRows), IsSupersetOf({"half of the sum", "sum without its tail"}));
  EXPECT_THAT(mutant_names(kNormOfRows),
              IsSupersetOf({"one-pass variance", "mean taken for zero", "no epsilon", "ten times the epsilon",
                            "half of the mean"}));
  EXPECT_THAT(mutant_names("reference: 'torch.nn.functional.gelu(x)'"),
              IsSupersetOf({"gelu by the other formula", "gelu by a sigmoid"}));
  EXPECT_THAT(mutant_names("reference: 'x @ x.t()', outputs: {y: [n, n]}"),
              IsSupersetOf({"half of the product", "product without its tail"}));
  EXPECT_THAT(mutant_names("reference: 'torch.cumsum(x, 1)'"), Contains("scan without carry"));
  EXPECT_THAT(mutant_names(kSumOfRows), Not(Contains("one-pass variance")));
}

TEST(Mutants, ComputeWhatTheirNamesSay) {
  const at::Tensor x = at::tensor({1.f, 2.f, 3.f, 4.f, 6.f}).reshape({1, 5});
  EXPECT_FLOAT_EQ(mutant_answer("half of the sum", kSumOfRows, x).item<float>(), 6.f * 5 / 3);
  EXPECT_FLOAT_EQ(mutant_answer("sum without its tail", kSumOfRows, x).item<float>(), 10);
  EXPECT_FLOAT_EQ(mutant_answer("the last column of x ignored", kSumOfRows, x).item<float>(), 14);
  const at::Tensor centred = x.to(at::kDouble) - 3.2, variance = centred.square().mean();
  const at::Tensor right = centred * (variance + 1e-5).rsqrt();
  EXPECT_TRUE(at::allclose(mutant_answer("one-pass variance", kNormOfRows, x), right, 1e-5, 1e-5));
  EXPECT_FALSE(at::equal(mutant_answer("ten times the epsilon", kNormOfRows, x),
                         mutant_answer("no epsilon", kNormOfRows, x)));
  const at::Tensor far = x + 4096;  // squares of five digits have lost what makes the variance
  EXPECT_FALSE(at::allclose(mutant_answer("one-pass variance", kNormOfRows, far), right, 1e-4, 1e-4));
  EXPECT_TRUE(mutant_answer("softmax without maximum", kSoftmaxOfRows, x * 100).isnan().any().item<bool>());
  EXPECT_TRUE(mutant_answer("softmax without maximum", kSoftmaxOfRows, x).isfinite().all().item<bool>());
}

TEST(Mutants, OfIndicesMeetRepetitions) {
  const std::string gather =
      "reference: 'x[r]', inputs: {x: [p, m], r: {shape: [n], type: i32, below: p}}, dims: [n, m, p], "
      "check: [{n: 40, m: 2, p: 4}], timed: {n: 64, m: 4, p: 8}";
  const Task task = mutated_task(gather);
  const at::Tensor x = at::arange(8, at::kFloat).reshape({4, 2}), r = at::full({40}, 2, at::kInt);
  const auto rows_of = [&](const std::string& name) {
    for (const Mutant& mutant : mutants_of(task))
      if (mutant.name == name) return mutant.answer({{x, r}, task.check_shapes[0]})[0].select(1, 0);
    return at::Tensor();
  };
  EXPECT_EQ(rows_of("dropped overflow of r").ne(4).sum().item<int64_t>(), 0);  // room for 40
  EXPECT_EQ(rows_of("r without repetitions").ne(4).sum().item<int64_t>(), 39);
  EXPECT_EQ(rows_of("a neighbour of an index of r").ne(4).sum().item<int64_t>(), 1);
}

// Of each word any four calls show all that it may hold.
TEST(Mutants, OfMemoryTakeWhatTheJudgeLeavesThere) {
  const std::vector<std::string> names{"added onto what y holds",
                                       "no less than what y holds",
                                       "y without its last block",
                                       "y added onto a workspace",
                                       "one behind x added",
                                       "one in front of x added",
                                       "the larger of x's last and one behind"};
  const at::Tensor x = at::arange(15, at::kFloat).reshape({3, 5}) - 20;
  for (const std::string language : {"cpp", "cuda"}) {
    const Task task = mutated_task("reference: x * 2, language: " + language);
    for (const Mutant& mutant : mutants_of(task)) {
      if (std::ranges::count(names, mutant.name) == 0) continue;
      EXPECT_EQ(mutant.kind, MutantKind::kMemory);
      std::vector<at::Tensor> changes;
      for (uint32_t call = 0; call < 4; ++call) {
        const at::Tensor got = mutant.answer({{x}, task.check_shapes[0], 1, {5, call}})[0];
        changes.push_back(got.eq(x * 2).logical_not());
      }
      const at::Tensor ever = at::stack(changes).any(0).flatten();
      const int64_t changed = ever.sum().item<int64_t>();
      const bool at_an_end = mutant.name.find("one") != std::string::npos;
      EXPECT_EQ(changed, at_an_end ? 1 : 15) << language << ": " << mutant.name;
      EXPECT_TRUE(ever[mutant.name.starts_with("one in front") ? 0 : 14].item<bool>()) << mutant.name;
    }
    EXPECT_THAT(mutant_names("reference: x * 2, language: " + language), IsSupersetOf(names));
  }
}

TEST(Mutants, ZerosLeftOutAreRefusedWhereThereAreZeros) {
  const std::string name = "zeros of y left out";
  EXPECT_FALSE(mutant_fate(name, "reference: torch.relu(x)").lives());
  // There are none at the check shapes.
  const auto at_size = mutant_fate(name, "reference: torch.relu(x) + (1.0 if x.size(0) < 64 else 0.0)");
  EXPECT_TRUE(at_size.check_idle);
  EXPECT_EQ(at_size.check_draw, -1);
  EXPECT_GE(at_size.timed_draw, 0);
  EXPECT_FALSE(at_size.lives());
  EXPECT_THAT(mutant_fates("reference: 'x * x + 1'"),
              Not(Contains(testing::Field(&MutantFate::mutant, name))));
}

TEST(Mutants, WhatDrawsRefuseIsToldFromWhatLives) {
  EXPECT_FALSE(mutant_fate("half of the sum", kSumOfRows).lives());
  const auto bits = mutant_fate("half the bits of x", "reference: x * 2, tolerance: 0.1");
  EXPECT_EQ(bits.check_draw, -1);
  EXPECT_EQ(bits.timed_draw, -1);
  EXPECT_TRUE(bits.lives());
}

TEST(Mutants, LiveOnPlainInputsAndNotInTheFamily) {
  const std::string softmax = kSoftmaxOfRows, row_sum = kSumOfRows,
                    plain = ", inputs: {x: {shape: [n, m], plain: true}}";
  EXPECT_TRUE(mutant_fate("softmax without maximum", softmax + plain).lives());
  EXPECT_FALSE(mutant_fate("softmax without maximum", softmax).lives());
  EXPECT_TRUE(mutant_fate("known range of x", row_sum + plain).lives());
  EXPECT_FALSE(mutant_fate("known range of x", row_sum).lives());
}

TEST(Mutants, WhatComputesTheSameBitsIsNone) {
  const auto fates = mutant_fates("reference: 'torch.clamp(x, -1, 1)'");
  const auto named = [](const char* name) { return testing::Field(&MutantFate::mutant, name); };
  EXPECT_THAT(fates, Not(Contains(named("known range of x"))));
  EXPECT_THAT(fates, Contains(named("half the bits of x")));
}

TEST(Mutants, AreTriedWhereATrialAsksForThem) {
  const Task task = mutated_task(kSumOfRows);
  EXPECT_THAT(try_task(task, {}).mutants, testing::IsEmpty());
  const auto result = try_task(task, {.most_elements = 1 << 20, .mutant_draws = 2});
  EXPECT_TRUE(result.timed);
  EXPECT_THAT(result.mutants, Contains(testing::Field(&MutantFate::timed_tried, true)));
}

}  // namespace
}  // namespace temper::env
