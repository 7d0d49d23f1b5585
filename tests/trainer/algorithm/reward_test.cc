#include "trainer/algorithm/reward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/trainer/fixtures.h"

namespace temper::trainer {

using env::Verdict;
using env::VerdictKind;

namespace {

double code_reward(const std::string& name, const Verdict& verdict) {
  RewardOptions options;
  options.name = name;
  const TurnValue value = reward(options, verdict);
  EXPECT_TRUE(value.kept);
  return value.code;
}

const std::vector<std::string> kNames = {"kevin",    "drkernel",    "makora", "cuda_agent",
                                         "tritonrl", "log_speedup", "roof"};

TEST(Reward, Kevin) {
  EXPECT_DOUBLE_EQ(code_reward("kevin", passed(1.5)), 1.8);  // 0.3 + 1.5
  EXPECT_EQ(code_reward("kevin", failed()), 0);
}

TEST(Reward, DrKernelCapsTheSpeedupAndAddsTheProfileShareWhereThereIsOne) {
  EXPECT_DOUBLE_EQ(code_reward("drkernel", passed(1.5)), 2.5);  // 1 + 1.5
  EXPECT_DOUBLE_EQ(code_reward("drkernel", passed(7)), 4);      // 1 + min(7, 3)
  Verdict profiled = passed(2);
  profiled.profile_share = 0.75;
  EXPECT_DOUBLE_EQ(code_reward("drkernel", profiled), 3.75);  // 1 + 2 + 0.75
  EXPECT_DOUBLE_EQ(reward({.name = "drkernel", .profile = 0}, profiled).code, 3);
}

TEST(Reward, Makora) {
  EXPECT_DOUBLE_EQ(code_reward("makora", passed(0.8)), 0.5);                   // σ(1 + 0.8 − 1.8) = σ(0)
  EXPECT_NEAR(code_reward("makora", passed(1.8)), 0.7310585786300049, 1e-15);  // σ(1)
  EXPECT_EQ(code_reward("makora", failed()), 0);
}

Verdict passed_compiled(double speedup, double speedup_compiled) {
  Verdict verdict = passed(speedup);
  verdict.speedup_compiled = speedup_compiled;
  return verdict;
}

TEST(Reward, MakoraComparesWithTorchCompileWhereItsTimeIsKnown) {
  EXPECT_DOUBLE_EQ(code_reward("makora", passed_compiled(3, 0.8)), 0.5);
}

TEST(Reward, CudaAgentsThirdTierIsFasterThanBoth) {
  EXPECT_EQ(code_reward("cuda_agent", passed_compiled(1.2, 1.06)), 3);
  EXPECT_EQ(code_reward("cuda_agent", passed_compiled(1.2, 1.04)), 2);
  EXPECT_EQ(code_reward("cuda_agent", passed_compiled(1.04, 1.2)), 1);
}

TEST(Reward, CudaAgentHasTiers) {
  EXPECT_EQ(code_reward("cuda_agent", failed()), -1);
  EXPECT_EQ(code_reward("cuda_agent", passed(0.5)), 1);
  EXPECT_EQ(code_reward("cuda_agent", passed(1.04)), 1);
  EXPECT_EQ(code_reward("cuda_agent", passed(1.06)), 2);
}

TEST(Reward, TritonRlCreditsPlanWithSpeedAndCodeWithCorrectness) {
  RewardOptions options;
  options.name = "tritonrl";
  const TurnValue value = reward(options, passed(1.7));
  EXPECT_DOUBLE_EQ(value.plan, 1.7);
  EXPECT_DOUBLE_EQ(value.code, 1);
}

TEST(Reward, RoofIsHowFarTheTimeIsFromTheTasksBound) {
  Verdict verdict = passed(2);
  verdict.baseline_us = 8;
  EXPECT_DOUBLE_EQ(code_reward("roof", verdict), 2 / 3.0);  // no bound known: 1 / (1 + 4/8)
  verdict.roof_us = 2;
  EXPECT_DOUBLE_EQ(code_reward("roof", verdict), 0.75);  // 1 / (1 + (4 − 2)/(8 − 2))
  verdict.roof_us = 4;
  EXPECT_DOUBLE_EQ(code_reward("roof", verdict), 1);  // at the bound
  verdict.roof_us = 6;
  EXPECT_DOUBLE_EQ(code_reward("roof", verdict), 1);  // beyond what is possible: no more
  Verdict as_eager = passed(1);
  as_eager.baseline_us = as_eager.roof_us = 8;
  EXPECT_DOUBLE_EQ(code_reward("roof", as_eager),
                   0.5);  // the baseline's time earns a half, even at the bound
  EXPECT_EQ(code_reward("roof", failed()), 0);
}

TEST(Reward, TheRoofsScoreOfSeveralShapesIsTheirMean) {
  Verdict verdict = passed(2);
  verdict.shapes = {{.sizes = {{"n", 1}}, .baseline_us = 8, .speedup = 2, .speedup_low = 1, .roof_us = 2},
                    {.sizes = {{"n", 2}}, .baseline_us = 80, .speedup = 2, .speedup_low = 2, .roof_us = 40}};
  RewardOptions options{.name = "roof", .lower_end = false};
  EXPECT_DOUBLE_EQ(reward(options, verdict).code,
                   (0.75 + 1) / 2);  // 1 / (1 + (4 − 2)/(8 − 2)), and at its bound
  options.lower_end = true;          // the first one's time may be the baseline's
  EXPECT_DOUBLE_EQ(reward(options, verdict).code, (0.5 + 1) / 2);
}

TEST(Reward, LogSpeedupTakesTheLowerBoundAndClips) {
  RewardOptions options;
  options.base = 0.5;
  options.slope = 2;
  Verdict verdict = passed(3);
  verdict.speedup_low = std::exp(1.0);
  EXPECT_DOUBLE_EQ(reward(options, verdict).code, 2.5);  // 0.5 + 2·1
  verdict.speedup_low = 1000;
  EXPECT_DOUBLE_EQ(reward(options, verdict).code, 4.5);  // 0.5 + 2·2
  verdict.speedup_low = 0;
  EXPECT_DOUBLE_EQ(reward(options, verdict).code, -0.5);  // 0.5 − 2·0.5
}

// Noise may have added what lies above the lower end.
TEST(Reward, PaysTheLowerEndUnlessToldToPayTheCenter) {
  Verdict verdict = passed_compiled(3, 1.5);
  verdict.speedup_low = 1;
  RewardOptions options{.name = "kevin"};
  EXPECT_DOUBLE_EQ(reward(options, verdict).code, 1.3);
  EXPECT_EQ(reward({.name = "cuda_agent"}, verdict).code, 1);
  EXPECT_DOUBLE_EQ(reward({.name = "makora"}, verdict).code, 1 / (1 + std::exp(-(1 + 0.5 - 1.8))));
  options.lower_end = false;
  EXPECT_DOUBLE_EQ(reward(options, verdict).code, 3.3);
  EXPECT_EQ(reward({.name = "cuda_agent", .lower_end = false}, verdict).code, 3);
  EXPECT_DOUBLE_EQ(reward({.lower_end = false}, verdict).code, 1 + std::log(3));
}

std::string problem_of(const RewardOptions& options) {
  Problems problems;
  options.check(problems);
  try {
    problems.throw_if_any();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Reward, NoRecipePaysARightAnswerLessThanAWrongOne) {
  for (const std::string& name : kNames) {
    RewardOptions options;
    options.name = name;
    EXPECT_EQ(problem_of(options), "") << name;
    for (const double speedup : {1e-9, 0.01, 0.3, 1.0, 100.0})
      EXPECT_GE(turn_total(reward(options, passed(speedup))), turn_total(reward(options, failed())))
          << name << " " << speedup;
    options.compile_credit = 5;
    EXPECT_NE(problem_of(options), "") << name;
  }
}

TEST(Reward, AFloorThatWouldPaySlowRightAnswersLessIsRefused) {
  RewardOptions options;
  options.log_floor = -2;  // 1 − 2 < 0
  EXPECT_THAT(problem_of(options), testing::HasSubstr("reward.log_floor: -2 pays a slow right answer -1"));
  options.log_floor = -1;
  EXPECT_EQ(problem_of(options), "");
  options.parse_credit = 0.01;
  EXPECT_NE(problem_of(options), "");
  EXPECT_EQ(problem_of({.base = 0, .log_floor = 0}), "");  // the same, never less
  EXPECT_EQ(problem_of({.slope = 0, .log_floor = -9}), "");
}

TEST(Reward, FastHacksAndSuspectsEarnWhatAFailureEarns) {
  for (const std::string& name : kNames)
    for (VerdictKind kind : {VerdictKind::kHack, VerdictKind::kSuspect, VerdictKind::kRejectPolicy}) {
      Verdict verdict = passed(100);
      verdict.kind = kind;
      EXPECT_EQ(code_reward(name, verdict), code_reward(name, failed())) << name;
    }
}

TEST(Reward, InfraIsMaskedAndNeverZeroReward) {
  rollout::Batch batch;
  batch.groups = {{.task = "t", .samples = {make_trajectory({failed(VerdictKind::kInfra), passed(1)})}}};
  for (const std::string& name : kNames) {
    RewardOptions options;
    options.name = name;
    const TurnValues rewards = compute_rewards(options, batch);
    ASSERT_EQ(rewards[0][0].size(), 2u);
    EXPECT_FALSE(rewards[0][0][0].kept) << name;
    EXPECT_TRUE(rewards[0][0][1].kept) << name;
  }
}

TEST(Reward, PartialCreditIsOffUnlessAsked) {
  RewardOptions options;
  EXPECT_EQ(reward(options, failed(VerdictKind::kFailCompile)).code, 0);
  options.parse_credit = 0.1;
  options.compile_credit = 0.2;
  EXPECT_EQ(reward(options, failed(VerdictKind::kFailParse)).code, 0);
  EXPECT_EQ(reward(options, failed(VerdictKind::kFailCompile)).code, 0.1);
  EXPECT_EQ(reward(options, failed(VerdictKind::kFailTimeout)).code, 0.2);
  EXPECT_EQ(reward(options, failed(VerdictKind::kHack)).code, 0);
  options.name = "cuda_agent";
  EXPECT_EQ(reward(options, failed(VerdictKind::kFailIncorrect)).code, -0.8);
}

}  // namespace
}  // namespace temper::trainer
