#include "trainer/evaluate/again.h"

#include <gtest/gtest.h>

namespace temper::trainer {
namespace {

std::string doubled(const std::string& body, const std::string& before = "") {
  return before + "extern \"C\" void kernel(const float* x, float* y, int n) {\n" + body +
         "  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];\n}\n";
}

TEST(JudgeAgain, WhatPassedByChanceFallsAndWhatIsRightStays) {
  env::Judge judge({},
                   env::parse_tasks("{name: double, reference: x * 2, inputs: {x: [n]}, outputs: {y: [n]}, "
                                    "check: [{n: 7}], timed: {n: 65536}}",
                                    "double.yaml"));
  std::vector<PassedAnswer> answers{{.task = "double", .code = doubled("")}};
  // Right in every second process, by the time at which that begins.
  for (int i = 0; i < 6; ++i)
    answers.push_back({.task = "double",
                       .code = doubled("  if (wrong) return;\n",
                                       "static const bool wrong = __builtin_ia32_rdtsc() / 4096 % 2;\n") +
                               "// " + std::to_string(i)});
  int64_t told = 0;
  judge_again(judge, answers, 3, [&](int64_t done, int64_t all) {
    EXPECT_EQ(all, 21);
    told = done;
  });
  EXPECT_EQ(told, 21);
  EXPECT_EQ(judge.stats().cached, 0);  // each round is a verdict of its own
  int64_t falls = 0;
  for (const PassedAnswer& answer : answers) {
    ASSERT_EQ(answer.after.size(), 3u);
    EXPECT_EQ(answer.verdict().pass(), answer.falls() == 0);
    falls += answer.falls();
  }
  EXPECT_EQ(answers[0].falls(), 0) << answers[0].verdict().message;
  EXPECT_GT(answers[0].verdict().speedup, 0);
  EXPECT_GT(falls, 0);  // of 18 coins; none falls once in 262,144 runs
}

TEST(JudgeAgain, ThreeRoundsComeToTheMiddleOneOrToTheFirstFall) {
  env::Verdict slow, fast, fallen;
  slow.kind = fast.kind = env::VerdictKind::kPass;
  fallen.kind = env::VerdictKind::kFailIncorrect;
  slow.speedup = 2, slow.speedup_low = 1, slow.speedup_high = 3;
  fast.speedup = 4, fast.speedup_low = 3, fast.speedup_high = 5;
  PassedAnswer answer;
  answer.after = {slow, fast, fast};
  EXPECT_EQ(answer.verdict().speedup, 4);
  EXPECT_EQ(answer.verdict().speedup_low, 3);
  EXPECT_EQ(answer.falls(), 0);
  answer.after = {slow, fallen, fast};
  EXPECT_EQ(answer.verdict().kind, env::VerdictKind::kFailIncorrect);
  EXPECT_EQ(answer.falls(), 1);
}

}  // namespace
}  // namespace temper::trainer
