#include "env/oracle/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include "base/error.h"
#include "env/oracle/sensitivity.h"
#include "env/oracle/tolerance.h"
#include "tests/env/oracle/oracle_task.h"

namespace temper::env {
namespace {

constexpr int64_t kArenaBytes = 32 << 20;

const char* const kSoftmax =
    "reference: 'torch.softmax(x, -1)', inputs: {x: [n, m]}, outputs: {y: [n, m]}, magnitudes: [1, 60]";

std::string refusal_of(const std::string& fields) {
  std::vector<uint8_t> arena(1 << 20);
  try {
    Oracle({oracle_task(fields)}, arena.data(), int64_t(arena.size()));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// An oracle with its arena, and candidates that fill the outputs of a draw.
class OracleTest : public ::testing::Test {
 protected:
  void start(const std::string& fields) {
    task_ = oracle_task(fields);
    oracle_.emplace(std::vector<Task>{task_}, arena_.data(), kArenaBytes);
  }

  OracleReply draw(int32_t shape, double magnitude = 1, int32_t count = 3, int32_t perturb = 0,
                   int32_t turn = -1) {
    request_ = {.header = {},
                .op = OracleOp::kDraw,
                .shape = shape,
                .count = count,
                .perturb = perturb,
                .magnitude = magnitude,
                .seed = 42,
                .turn_key = 7,
                .turn = turn};
    layout_ = case_layout(task_, shape < 0 ? task_.timed_shape : task_.check_shapes[size_t(shape)]);
    return oracle_->answer(request_);
  }

  float* input(int64_t draw, size_t i = 0) { return at(draw, layout_.inputs[i]); }
  float* output(int64_t draw, size_t i = 0) { return at(draw, layout_.outputs[i]); }

  // Draws that take the kinds by turns, enough for all of them.
  void draw_by_turns(int32_t shape) { ASSERT_EQ(draw(shape, 1, 24, 0, 0).status, OracleStatus::kOk); }

  OracleReply compare(int32_t draw, Fill fill = {}) {
    request_.op = OracleOp::kCompare;
    request_.draw = draw;
    request_.fill_key = fill.key;
    request_.fill_call = fill.call;
    return oracle_->answer(request_);
  }

  // What the judge says of `candidate` on every draw.
  bool passes(const std::function<void(const float*, float*)>& candidate) {
    bool right = true;
    for (int32_t i = 0; i < request_.count; ++i) {
      std::memset(output(i), kPoisonByte, size_t(layout_.outputs[0].bytes));
      candidate(input(i), output(i));
      right = right && compare(i).status == OracleStatus::kOk;
    }
    return right;
  }

  Task task_;
  std::optional<Oracle> oracle_;

 private:
  float* at(int64_t draw, const Buffer& buffer) {
    return reinterpret_cast<float*>(arena_.data() + draw * layout_.bytes + buffer.offset);
  }

  std::vector<uint8_t> arena_ = std::vector<uint8_t>(size_t(kArenaBytes));
  OracleRequest request_;
  CallLayout layout_;
};

void softmax(const float* x, float* y, int n, int m, bool shifted, float scale = 1) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    const float shift = shifted ? *std::max_element(x, x + m) : 0;
    float sum = 0;
    for (int j = 0; j < m; ++j) sum += y[j] = std::exp(x[j] - shift);
    for (int j = 0; j < m; ++j) y[j] *= scale / sum;
  }
}

// Four times eager's error would let another function pass (tolerance.h); once, and the strict bound, lets in
// who rounds to bf16 wherever eager does.
TEST(Tolerance, ShortRoundingsInBetweenExcuseWhatEagerIsOff) {
  constexpr double kStrict = 4e-3, kSingle = 1e-6, kEager = 9e-3;
  const double allowed = allowed_error(kStrict, ElementType::kBF16, kSingle, kEager);
  EXPECT_NEAR(allowed, kStrict + 4 * kSingle + kEager, 1e-12);
  EXPECT_LT(allowed, 3.6e-2 / 2);
  EXPECT_DOUBLE_EQ(allowed_error(kStrict, ElementType::kF32, kSingle, kEager),
                   allowed_error(kStrict, ElementType::kF32, kSingle));
  EXPECT_DOUBLE_EQ(allowed_error(kStrict, ElementType::kBF16, kSingle, 1), 5e-2);
}

TEST(Reference, WhatDoesNotFitIsSaidWithTheTasksName) {
  const std::string io = "inputs: {x: [n, m]}, outputs: {y: [n, m]}, reference: ";
  EXPECT_NE(refusal_of(io + "'torch.no_such_op(x)'").find("task t, reference: Unknown builtin op"),
            std::string::npos);
  EXPECT_NE(refusal_of(io + "'x +'").find("task t, reference: "), std::string::npos);
  EXPECT_NE(refusal_of(io + "\"def reference(a, b):\\n  return a\"").find("takes 2 arguments"),
            std::string::npos);
  EXPECT_NE(refusal_of(io + "'x.sum(-1)'").find("output y is [64]; the task says [64, 96]"),
            std::string::npos);
  EXPECT_NE(refusal_of(io + "'(x, x)'").find("returns 2 tensors"), std::string::npos);
  EXPECT_NE(refusal_of(io + "'x.add_(1)'").find("changes its input x"), std::string::npos);
  EXPECT_NE(refusal_of(io + "'x @ x'").find("task t, reference: "), std::string::npos);
  EXPECT_NE(refusal_of(io + "'x * 0 + 1'").find("input x has no influence on any output"), std::string::npos);
  EXPECT_EQ(refusal_of(io + "'F.leaky_relu(torch.nn.functional.gelu(x) * math.pi, 0.1)'"), "");
}

TEST(Compare, NanAndInfinityAreRightOnlyWhereExpected) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                   kInf = std::numeric_limits<double>::infinity();
  const Bound bound{.relative = 1e-3, .scale = 1};
  const auto wrong = [&](float got, double expected) { return compare_f32(&got, &expected, 1, bound).wrong; };
  EXPECT_EQ(wrong(NAN, kNan) + wrong(INFINITY, kInf) + wrong(-INFINITY, -kInf) + wrong(INFINITY, 1e60), 0);
  EXPECT_EQ(wrong(NAN, 1) + wrong(INFINITY, 1) + wrong(1, kNan) + wrong(1, kInf) + wrong(-INFINITY, kInf) +
                wrong(NAN, kInf) + wrong(INFINITY, kNan),
            7);
}

TEST(Compare, CountsAndNamesTheWorst) {
  const float got[] = {1, 2.1f, 3, 4.5f, 5};
  const double expected[] = {1, 2, 3, 4, 5.0001};
  const Comparison found = compare_f32(got, expected, 5, {.relative = 1e-3, .scale = 1});
  EXPECT_EQ(found.wrong, 2);
  EXPECT_EQ(found.worst, 3);
  EXPECT_EQ(found.got, 4.5);
  EXPECT_EQ(found.expected, 4);
  EXPECT_NEAR(found.allowed, 5e-3, 1e-12);
}

// Of one element, four draws may all be zero; what overflows its type says nothing.
TEST(OutputScales, AreNotThoseOfAFewUnluckyDraws) {
  const Task task =
      oracle_task("reference: x, inputs: {x: [n]}, outputs: {y: {shape: [n], type: f16}}, language: cuda");
  uint64_t draws = 0;
  const auto scale = [&](int64_t elements) {
    return output_scales(task, {{"n", elements}, {"m", 1}}, [&](uint64_t draw) {
      draws = draw + 1;
      const double element = draw < 4 ? 0 : draw < 8 ? 70'000 : 3;
      return std::vector<at::Tensor>{at::full({elements}, element, at::kDouble)};
    })[0];
  };
  EXPECT_DOUBLE_EQ(scale(1), 1.5);
  EXPECT_EQ(draws, 16);
  EXPECT_EQ(scale(4096), 0);
  EXPECT_EQ(draws, 4);
}

TEST_F(OracleTest, HonestPassesAndTheRestFails) {
  start(kSoftmax);
  for (const auto& [shape, n, m] : {std::tuple{0, 5, 7}, {-1, 64, 96}}) {
    const auto run = [n = n, m = m](bool shifted, float scale) {
      return [=](const float* x, float* y) { softmax(x, y, n, m, shifted, scale); };
    };
    ASSERT_EQ(draw(shape).status, OracleStatus::kOk);
    EXPECT_TRUE(passes(run(true, 1)));
    EXPECT_TRUE(passes(run(false, 1)));
    EXPECT_FALSE(passes(run(true, 1.0001f)));
    EXPECT_FALSE(passes([n = n, m = m](const float*, float* y) { std::fill_n(y, n * m, 0.0f); }));
    EXPECT_FALSE(passes([n = n, m = m](const float* x, float* y) { std::copy_n(x, n * m, y); }));
    EXPECT_FALSE(passes([](const float*, float*) {}));
    draw(shape, 60);
    EXPECT_TRUE(passes(run(true, 1)));
    EXPECT_FALSE(passes(run(false, 1)));
  }
}

TEST_F(OracleTest, OneUnwrittenOrWrongElementIsFoundAndNamed) {
  start(kSoftmax);
  draw(0);
  softmax(input(1), output(1), 5, 7, true);
  output(1)[11] += 0.25f;
  const OracleReply reply = compare(1);
  EXPECT_EQ(reply.status, OracleStatus::kMismatch);
  EXPECT_EQ(reply.index, 11);
  EXPECT_EQ(reply.wrong, 1);
  EXPECT_NEAR(reply.got - reply.expected, 0.25, 1e-6);
  std::memset(output(1) + 11, kPoisonByte, 4);
  EXPECT_EQ(compare(1).status, OracleStatus::kMismatch);
}

TEST(Report, ListsTheFirstAndTheWorst) {
  std::vector<float> got(100);
  const std::vector<double> expected(100, 2);
  for (int i = 0; i < 100; ++i) got[size_t(i)] = 2.0f + (i >= 10 ? 0.01f * float(i) : 0);
  got[50] = NAN;
  got[60] = -std::numeric_limits<float>::infinity();
  std::memset(&got[70], kPoisonByte, 4);
  const OutputReport report = report_f32(got.data(), expected.data(), 100, {1e-3, 1}, 1000);
  EXPECT_EQ(report.wrong, 90);
  EXPECT_EQ(report.wrong, compare_f32(got.data(), expected.data(), 100, {1e-3, 1}).wrong);
  EXPECT_EQ(report.seen, 100);
  EXPECT_EQ(report.nan, 1);
  EXPECT_EQ(report.infinite, 1);
  EXPECT_EQ(report.unwritten, 1);
  EXPECT_NEAR(report.max_absolute, 0.99, 1e-6);
  EXPECT_NEAR(report.max_relative, 0.495, 1e-6);
  const auto places = [](const WrongElement* elements, int count) {
    std::vector<int64_t> indices;
    for (int i = 0; i < count; ++i) indices.push_back(elements[i].index);
    return indices;
  };
  EXPECT_EQ(places(report.first, report.first_count), (std::vector<int64_t>{1010, 1011, 1012, 1013}));
  EXPECT_EQ(places(report.worst, report.worst_count), (std::vector<int64_t>{1050, 1060, 1070, 1099}));
  EXPECT_EQ(report.worst[2].unwritten, 1u);
}

TEST(Report, CountsIntegers) {
  const std::vector<int32_t> got{1, 2, -1, 9};
  const std::vector<int64_t> expected{1, 3, 5, 5};
  const OutputReport report = report_i32(got.data(), expected.data(), 4);
  EXPECT_EQ(report.wrong, 3);
  EXPECT_EQ(report.unwritten, 1);
  EXPECT_EQ(report.first[0].index, 1);
  EXPECT_EQ(report.worst[0].index, 2);
  EXPECT_EQ(report.worst[1].index, 3);
}

TEST_F(OracleTest, ReportsEveryOutput) {
  start("reference: '(x + 1, x + 2)', inputs: {x: [n, m]}, outputs: {y: [n, m], z: [n, m]}");
  draw(0);
  const OracleReply reply = compare(1);
  EXPECT_EQ(reply.status, OracleStatus::kMismatch);
  EXPECT_EQ(reply.tensor, 0);
  for (int output : {0, 1}) {
    EXPECT_EQ(reply.report.output[output].wrong, 35) << output;
    EXPECT_EQ(reply.report.output[output].first[1].index, 1) << output;
  }
  EXPECT_EQ(reply.report.output[2].wrong, 0);
}

TEST_F(OracleTest, PlainSummationPassesAndHalfPrecisionDoesNot) {
  start(
      "reference: 'x.sum(0, keepdim=True)', inputs: {x: [n]}, outputs: {y: [1]}, "
      "timed: {n: 65536, m: 1}, check: [{n: 3, m: 1}]");
  draw(-1);
  EXPECT_TRUE(passes([](const float* x, float* y) {
    float sum = 0;
    for (int i = 0; i < 65536; ++i) {
      sum += x[i];
      asm volatile("" : "+x"(sum));
    }
    *y = sum;
  }));
  EXPECT_FALSE(passes([](const float* x, float* y) {
    float sum = 0;
    for (int i = 0; i < 65536; ++i) {
      uint32_t bits;
      std::memcpy(&bits, x + i, 4);
      bits &= 0xFFFF0000;  // bfloat16
      float rounded;
      std::memcpy(&rounded, &bits, 4);
      sum += rounded;
    }
    *y = sum;
  }));
  EXPECT_FALSE(passes([](const float* x, float* y) {
    float sum = 0;
    for (int i = 0; i < 64880; ++i) sum += x[i];
    *y = sum / 0.99f;
  }));
}

// In long rows of plain inputs, too, one term may dominate thousands that a plain sum loses.
TEST_F(OracleTest, PlainSummationPassesWhereOneTermDominates) {
  start(
      "reference: 'torch.softmax(x * torch.abs(x) * 1.125, 1)', inputs: {x: [n, m]}, outputs: {y: [n, m]}, "
      "check: [{n: 32, m: 16384}], timed: {n: 2, m: 5}");
  ASSERT_EQ(draw(0, 1, 3).status, OracleStatus::kOk);
  const auto weigh = [](const float* x, std::vector<float>& v) {
    for (size_t i = 0; i < v.size(); ++i) v[i] = x[i] * std::abs(x[i]) * 1.125f;
  };
  std::vector<float> v(size_t{32} * 16384);
  EXPECT_TRUE(passes([&](const float* x, float* y) { weigh(x, v), softmax(v.data(), y, 32, 16384, true); }));
  EXPECT_FALSE(passes([&](const float* x, float* y) {
    weigh(x, v);
    softmax(v.data(), y, 32, 16384, true, 1.0002f);
  }));
}

TEST_F(OracleTest, PerturbedDrawsRepeatTheFirstButForOneElement) {
  start("reference: x + z, inputs: {x: [n, m], z: [n, m]}, outputs: {y: [n, m]}");
  ASSERT_EQ(draw(0, 1, 3, 1).status, OracleStatus::kOk);
  for (int64_t i = 1; i < 3; ++i) {
    int changed = 0;
    for (size_t tensor = 0; tensor < 2; ++tensor) {
      for (int e = 0; e < 35; ++e) {
        if (input(0, tensor)[e] == input(i, tensor)[e]) continue;
        ++changed;
        EXPECT_EQ(tensor, size_t(i - 1));
        EXPECT_GT(std::abs(input(i, tensor)[e]), 7);
      }
    }
    EXPECT_EQ(changed, 1);
  }
}

TEST_F(OracleTest, BaselineIsTheReferenceOnTheDraw) {
  start(kSoftmax);
  draw(-1);
  const auto outputs = oracle_->run_baseline(2);
  std::memcpy(output(2), outputs[0].const_data_ptr(), outputs[0].nbytes());
  EXPECT_EQ(compare(2).status, OracleStatus::kOk);
  EXPECT_THROW(oracle_->run_baseline(3), ConfigError);
}

TEST_F(OracleTest, BadRequestsAreToldInTheReply) {
  start(kSoftmax);
  EXPECT_EQ(draw(0, 1, 0).status, OracleStatus::kError);
  EXPECT_EQ(draw(0, 1, kMaxTimedDraws + 1).status, OracleStatus::kError);
  draw(0);
  EXPECT_EQ(compare(3).status, OracleStatus::kError);
  EXPECT_EQ(oracle_->answer({.header = {}, .op = OracleOp::kDraw, .task = 1, .count = 1}).status,
            OracleStatus::kError);
  EXPECT_EQ(oracle_->answer({.header = {}, .op = OracleOp::kDraw, .shape = 9, .count = 1}).status,
            OracleStatus::kError);
}

// What is right of inputs around zero alone: softmax without the maximum is, and overflows on spikes.
TEST_F(OracleTest, DrawsByTurnsAskForMoreThanPlainOnes) {
  start(kSoftmax);
  draw_by_turns(-1);
  EXPECT_TRUE(passes([](const float* x, float* y) { softmax(x, y, 64, 96, true); }));
  EXPECT_FALSE(passes([](const float* x, float* y) { softmax(x, y, 64, 96, false); }));
  ASSERT_EQ(draw(-1, 1, 24, 1, 0).status, OracleStatus::kOk);
  for (int e = 0; e < 64 * 96; ++e) EXPECT_LT(std::abs(input(0)[e]), 6) << "the spike test stays plain";
}

// How far a kind may go is measured only after it was asked for some times: before that each draw is looked at.
TEST_F(OracleTest, NoDrawGoesWhereARightAnswerIsNoNumber) {
  start("reference: torch.exp(x * 8), inputs: {x: [n, m]}, outputs: {y: [n, m]}");
  float largest = 0;
  for (int32_t round = 0; round < 8; ++round) {
    ASSERT_EQ(draw(-1, 1, 24, 0, 24 * round).status, OracleStatus::kOk);
    for (int32_t i = 0; i < 24; ++i)
      largest = std::max(largest, *std::max_element(input(i), input(i) + 64 * 96));
  }
  EXPECT_GT(largest, 6);
  EXPECT_TRUE(std::isfinite(std::exp(8 * largest))) << largest;
}

// Who keeps the bits of bf16, or 14 of a fraction, is as wrong where numbers cancel as elsewhere.
void chain(const float* x, const float* z, float* y, int count, uint32_t mask, bool other_order) {
  for (int i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    bits &= mask;
    float kept;
    std::memcpy(&kept, &bits, 4);
    y[i] = other_order ? kept * kept * z[i] + kept : (kept * z[i] + 1) * kept;
  }
}

TEST_F(OracleTest, WhereNumbersCancelAnotherOrderIsRightAndFewerBitsAreNot) {
  start("reference: '(x * z + 1) * x', inputs: {x: [n, m], z: [n, m]}, outputs: {y: [n, m]}");
  const auto passes_with = [&](uint32_t mask, bool other_order) {
    bool right = true;
    draw_by_turns(-1);
    for (int32_t i = 0; i < 24; ++i) {
      chain(input(i), input(i, 1), output(i), 64 * 96, mask, other_order);
      right = right && compare(i).status == OracleStatus::kOk;
    }
    return right;
  };
  EXPECT_TRUE(passes_with(0xFFFFFFFF, false));
  EXPECT_TRUE(passes_with(0xFFFFFFFF, true));
  EXPECT_FALSE(passes_with(0xFFFF0000, true));
  EXPECT_FALSE(passes_with(0xFFFFFE00, true));
}

// One accumulator is an honest order, too; spikes stay where it does not lose the other terms for them.
TEST_F(OracleTest, PlainSumsOfManySquaresStayRight) {
  start(
      "reference: 'torch.square(x).mean(0, keepdim=True)', inputs: {x: [n]}, outputs: {y: [1]}, "
      "timed: {n: 65536, m: 1}, check: [{n: 3, m: 1}], tolerance: 1e-4");
  draw_by_turns(-1);
  float largest = 0;
  for (int32_t i = 0; i < 24; ++i) largest = std::max(largest, *std::max_element(input(i), input(i) + 65536));
  EXPECT_GT(largest, 20);
  EXPECT_TRUE(passes([](const float* x, float* y) {
    float sum = 0;
    for (int i = 0; i < 65536; ++i) {
      sum += x[i] * x[i];
      asm volatile("" : "+x"(sum));
    }
    *y = sum / 65536;
  }));
}

TEST(Growth, IsBoundedWhereTermsAreManyAlone) {
  const Task task =
      oracle_task("reference: 'x.sum(1)', inputs: {x: [n, m]}, outputs: {y: [n]}, tolerance: 1e-4");
  EXPECT_EQ(most_growth(task, 0, {{"n", 4}, {"m", 256}}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(most_growth(task, 0, {{"n", 4}, {"m", 65536}}), 32);
}

TEST_F(OracleTest, WhatACallLeftUnwrittenIsKnownByItsFill) {
  start(kSoftmax);
  draw(0);
  const Fill fill{5, 6};
  softmax(input(1), output(1), 5, 7, true);
  const auto offset = case_layout(task_, task_.check_shapes[0]).outputs[0].offset;
  fill_words(fill, FillKind::kFloats, offset / 4 + 11, 12, reinterpret_cast<uint32_t*>(output(1) + 11));
  const auto zeros = std::count(output(1) + 11, output(1) + 23, 0.0f);  // which anybody may have written
  EXPECT_TRUE(zeros > 0 && zeros < 12) << zeros;
  EXPECT_EQ(compare(1, fill).report.output[0].unwritten, 12 - zeros);
  EXPECT_EQ(compare(1, {5, 7}).report.output[0].unwritten, 0);
}

TEST_F(OracleTest, IntegerOutputsAreExact) {
  start("reference: x.argmax(-1), inputs: {x: [n, m]}, outputs: {y: {shape: [n], type: i32}}");
  draw(0);
  const auto argmax = [](int shift) {
    return [shift](const float* x, float* y) {
      for (int i = 0; i < 5; ++i, x += 7) {
        const auto best = int32_t((std::max_element(x, x + 7) - x + shift) % 7);
        std::memcpy(y + i, &best, 4);
      }
    };
  };
  EXPECT_TRUE(passes(argmax(0)));
  EXPECT_FALSE(passes(argmax(1)));
}

}  // namespace
}  // namespace temper::env
