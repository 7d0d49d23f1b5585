#include "env/call/draw_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/rng.h"
#include "tests/env/call/family_task.h"

namespace temper::env {
namespace {

TEST(DrawForms, AVerdictsCallsMeetEveryKindOfEachInput) {
  const auto all = [](int, DrawKind) { return 1.0; };
  for (const char* inputs :
       {"{x: [n, m]}", "{x: [n, m], z: [n, m]}", "{x: [n, m], a: [m], b: {shape: [m], uniform: [0, 1]}}",
        "{x: [n, m], z: [n, m], i: {shape: [n], type: i32, below: m}, a: [m], b: [n]}"}) {
    const Task task = family_task(inputs);
    for (uint64_t key = 1; key < 100; ++key) {
      std::vector<std::set<DrawKind>> met(task.inputs.size());
      for (int32_t number = 0; number < calls_for_all_kinds(task); ++number) {
        const auto forms = draw_forms(task, kDrawShape, 1, 7, {key, number}, all);
        for (size_t i = 0; i < forms.size(); ++i) met[i].insert(forms[i].kind);
      }
      for (size_t i = 0; i < met.size(); ++i) {
        const auto kinds = draw_kinds(task, i, kDrawShape);
        EXPECT_EQ(met[i], std::set<DrawKind>(kinds.begin(), kinds.end())) << inputs << ", input " << i;
      }
    }
  }
}

TEST(DrawForms, SomeShapesHaveFewKinds) {
  const Task task = family_task("{x: [n, m]}");
  EXPECT_TRUE(has_all_kinds(task, kDrawShape));
  EXPECT_FALSE(has_all_kinds(task, {{"n", 1}, {"m", 64}}));
  EXPECT_FALSE(has_all_kinds(task, {{"n", 40}, {"m", 1}}));
}

// A candidate that is wrong for one row alone, which few calls ask for, must not pass by chance.
TEST(DrawForms, AVerdictsCallsMeetEveryKindOfAnIndex) {
  const Task task = family_task("{x: [n, m], z: [n, m], i: {shape: [n], type: i32, below: m}}");
  const auto all = [](int, DrawKind) { return 1.0; };
  const auto kinds = draw_kinds(task, 2, kDrawShape);
  for (uint64_t key = 1; key < 200; ++key) {
    std::set<DrawKind> met;
    for (int32_t number = 0; number < int32_t(kinds.size()); ++number)
      met.insert(draw_forms(task, kDrawShape, 1, 7, {key, int32_t(key % 11) + number}, all)[2].kind);
    EXPECT_EQ(met, std::set<DrawKind>(kinds.begin(), kinds.end())) << key;
  }
}

TEST(DrawForms, InputsDepartAlikeEachAndAlone) {
  const Task task = family_task("{x: [n, m], z: [n, m]}");
  const auto all = [](int, DrawKind) { return 1.0; };
  int alike = 0, each = 0, alone = 0;
  for (int32_t number = 0; number < 100; ++number) {
    const auto forms = draw_forms(task, kDrawShape, 1, 7, {5, number}, all);
    const bool first = forms[0].kind != DrawKind::kPlain, second = forms[1].kind != DrawKind::kPlain;
    alike += first && forms[0].kind == forms[1].kind;
    each += first && second && forms[0].kind != forms[1].kind;
    alone += first != second;
  }
  EXPECT_GT(alike, 15);
  EXPECT_GT(each, 15);
  EXPECT_GT(alone, 15);
}

TEST(DrawForms, WhatCannotBeHadIsLeftOut) {
  const Task task = family_task("{x: [n, m], z: [n, m]}");
  const auto few = [](int input, DrawKind kind) {
    return kind == DrawKind::kSpikes && input != kAlike ? 0x1p-3 : kind == DrawKind::kPlain ? 1.0 : 0.0;
  };
  for (int32_t number = 0; number < 60; ++number)
    for (const DrawForm& form : draw_forms(task, kDrawShape, 1, 7, {5, number}, few))
      EXPECT_TRUE(form.kind == DrawKind::kPlain || form.kind == DrawKind::kSpikes) << int(form.kind);
}

TEST(DrawForms, PlainInputsAndCallsWithoutATurnStayPlain) {
  const auto all = [](int, DrawKind) { return 1.0; };
  const Task plain = family_task("{x: {shape: [n, m], plain: true}}"), usual = family_task("{x: [n, m]}");
  for (int32_t number = 0; number < 30; ++number)
    EXPECT_EQ(draw_forms(plain, kDrawShape, 1, 7, {5, number}, all)[0].kind, DrawKind::kPlain);
  EXPECT_EQ(draw_forms(usual, kDrawShape, 1, 7, {}, all)[0].kind, DrawKind::kPlain);
}

TEST(DrawForms, TimedCallsHaveNoOrderAndNoCrowdsOfTheirOwn) {
  const Task task =
      family_task("{x: {shape: [n, m], distinct: [-1, 1]}, i: {shape: [n], type: i32, below: m}}");
  const auto all = [](int, DrawKind) { return 1.0; };
  std::set<DrawKind> timed, checked;
  for (int32_t number = 0; number < 60; ++number) {
    for (const DrawForm& form : draw_forms(task, kDrawShape, 1, 7, {5, number, true}, all))
      timed.insert(form.kind);
    for (const DrawForm& form : draw_forms(task, kDrawShape, 1, 7, {5, number}, all))
      checked.insert(form.kind);
  }
  EXPECT_EQ(timed, (std::set<DrawKind>{DrawKind::kPlain, DrawKind::kLargestTogether}));
  EXPECT_EQ(checked.size(), 11u);
}

TEST(DrawForms, WherePickingHasOneAnswerNothingIsEqual) {
  const Task task = family_task("{x: [n, m]}", "{y: {shape: [n], type: i32}}");
  const auto kinds = draw_kinds(task, 0, kDrawShape);
  for (const DrawKind kind : {DrawKind::kZeros, DrawKind::kRise, DrawKind::kFall, DrawKind::kZeroRow})
    EXPECT_EQ(std::ranges::count(kinds, kind), 0) << int(kind);
}

// How far a plain sum in f32 is off, in units of the sum of the terms' sizes.
template <class Term>
double plain_sum_error(const std::vector<float>& values, const Term& term) {
  float sum = 0;
  double exact = 0, size = 0;
  for (const float value : values) {
    const float one = term(value);
    sum += one, exact += one, size += std::abs(double(one));
  }
  return std::abs(sum - exact) / size;
}

// What a strict bound allows sums of so many terms beside a task's own tolerance.
double allowed_sum_error(double terms) { return 1e-5 + 4 * 0x1p-24 * std::sqrt(terms); }

// Of sums, sums of squares and sums of exponentials over a row of that many terms.
double worst_plain_sum(const Task& task, DrawKind kind, int64_t terms, uint64_t key) {
  const Shape shape{{"n", 3}, {"m", terms}};
  const TensorSpec& input = task.inputs[0];
  const DrawForm form = draw_form(input, shape, 1, kind, 1, key, longest_sum(task, shape));
  Rng rng({key, 9});
  double worst = 0;
  for (uint32_t place = 0; place < form.elements;) {
    std::vector<float> row;
    for (int64_t i = 0; i < terms; ++i, ++place) {
      const double plain = input.distribution == Distribution::kNormal ? rng.normal() : 1 + 2 * rng.uniform();
      row.push_back(drawn_float(form, place, float(plain)));
    }
    const float largest = *std::ranges::max_element(row);
    worst = std::max({worst, plain_sum_error(row, [](float x) { return x; }),
                      plain_sum_error(row, [](float x) { return x * x; })});
    // Exponentials of far apart elements are hard to add up for reasons of their own.
    if (kind != DrawKind::kRowScales)
      worst = std::max(worst, plain_sum_error(row, [&](float x) { return std::exp(x - largest); }));
  }
  return worst;
}

TEST(DrawForms, LongSumsInPlainOrderStayRight) {
  using enum DrawKind;
  const Task normal = family_task("{x: [n, m]}"),
             uniform = family_task("{x: {shape: [n, m], uniform: [1, 3]}}");
  for (const int64_t terms : {1024, 4096, 32768, 65536}) {
    const auto stays_right = [&](const Task& task, DrawKind kind) {
      for (uint64_t key = 0; key < 5; ++key)
        EXPECT_LT(worst_plain_sum(task, kind, terms, key), allowed_sum_error(double(terms)))
            << "kind " << int(kind) << ", " << terms << " terms, key " << key;
    };
    for (const DrawKind kind :
         {kZeros, kAllPositive, kAllNegative, kRise, kFall, kRowOffsets, kRowScales, kSmallRow})
      stays_right(normal, kind);
    for (const DrawKind kind : {kLowEnd, kHighEnd, kBothEnds}) stays_right(uniform, kind);
  }
}

}  // namespace
}  // namespace temper::env
