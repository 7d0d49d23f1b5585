#include "trainer/run/step_metrics.h"

#include <gtest/gtest.h>

#include "tests/trainer/fixtures.h"

namespace temper::trainer {
namespace {

Metrics metrics_of_small_step() {
  const RewardOptions reward;
  rollout::Batch batch;
  batch.groups = {
      {.task = "a", .samples = {make_trajectory({failed(), passed(2)}), make_trajectory({passed(2)})}}};
  batch.groups[0].samples[1].turns[0].stopped = false;
  TurnValues rewards = {{values({0, 4}), values({2})}};
  rewards[0][0][0].kept = false;
  LearnStats learned;
  learned.rollout_kl = 1e-7;
  learned.packed_tokens = 30;
  return step_metrics({.reward = reward,
                       .batch = batch,
                       .rewards = rewards,
                       .returns = rewards,
                       .advantages = rewards,
                       .rejected = {},
                       .learned = learned,
                       .rollout = {.generate_s = 2,
                                   .wait_s = 1,
                                   .tokens = 20,
                                   .judged = 4,
                                   .cached = 1,
                                   .again = 3,
                                   .overturned = 1},
                       .seconds = 5});
}

TEST(StepMetrics, DescribeKeptValues) {
  const Metrics m = metrics_of_small_step();
  EXPECT_EQ(m.at("critic/rewards/mean"), 3);
  EXPECT_EQ(m.at("critic/rewards/max"), 4);
  EXPECT_EQ(m.at("critic/rewards/min"), 2);
  EXPECT_EQ(m.at("critic/advantages/std"), 1) << "of 4 and 2";
}

TEST(StepMetrics, DescribeTheBatch) {
  const Metrics m = metrics_of_small_step();
  EXPECT_EQ(m.at("response_length/mean"), 3);  // one plan token, two code tokens
  EXPECT_EQ(m.at("num_turns/mean"), 1.5);
  EXPECT_DOUBLE_EQ(m.at("response_length/clip_ratio"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(m.at("env/correct"), 2.0 / 3);
  EXPECT_EQ(m.at("env/turn_1/correct"), 0.5);
  EXPECT_EQ(m.at("env/turn_2/correct"), 1);
  EXPECT_DOUBLE_EQ(m.at("env/verdict/FAIL_INCORRECT"), 1.0 / 3);
  EXPECT_EQ(m.at("env/cached"), 0.25);
  EXPECT_EQ(m.at("env/again"), 3);
  EXPECT_EQ(m.at("env/overturned"), 1);
}

TEST(StepMetrics, DescribeTimes) {
  const Metrics m = metrics_of_small_step();
  EXPECT_EQ(m.at("rollout_corr/kl"), 1e-7);
  EXPECT_EQ(m.at("timing_s/gen"), 2);
  EXPECT_EQ(m.at("timing_s/reward"), 1);
  EXPECT_EQ(m.at("perf/gen_throughput"), 10);
  EXPECT_EQ(m.at("perf/throughput"), 6);
}

}  // namespace
}  // namespace temper::trainer
