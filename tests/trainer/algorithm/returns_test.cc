#include "trainer/algorithm/returns.h"

#include <gtest/gtest.h>

#include "tests/trainer/fixtures.h"

namespace temper::trainer {
namespace {

std::vector<double> returns(const std::string& name, double discount, const std::vector<double>& rewards) {
  return codes(sample_returns({.name = name, .discount = discount}, values(rewards)));
}

std::vector<bool> kept(const std::string& name, double discount, size_t missing) {
  SampleValues rewards = values({1, 2, 3});
  rewards[missing].kept = false;
  std::vector<bool> flags;
  for (const TurnValue& turn : sample_returns({.name = name, .discount = discount}, rewards))
    flags.push_back(turn.kept);
  return flags;
}

void expect_returns(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-12) << i;
}

TEST(Returns, DiscountedSum) {
  // 1 + 0.4·0 + 0.16·2 = 1.32; 0 + 0.4·2 = 0.8; 2
  expect_returns(returns("sum", 0.4, {1, 0, 2}), {1.32, 0.8, 2});
  expect_returns(returns("sum", 1, {1, 0, 2}), {3, 2, 2});
  expect_returns(returns("sum", 0, {1, 0, 2}), {1, 0, 2});
}

TEST(Returns, DiscountedMax) {
  // max(1, 0.4·0, 0.16·10) = 1.6; max(0, 4) = 4; 10
  expect_returns(returns("max", 0.4, {1, 0, 10}), {1.6, 4, 10});
  // max(1, 0, 0.32) = 1
  expect_returns(returns("max", 0.4, {1, 0, 2}), {1, 0.8, 2});
}

TEST(Returns, Last) {
  expect_returns(returns("last", 1, {5, 0, 2}), {2, 2, 2});
  expect_returns(returns("last", 0.5, {5, 0, 2}), {0.5, 1, 2});
}

TEST(Returns, BestSoFarCreditsImprovementsOnly) {
  // B = 1, 1, 3: gains 1, 0, 2; summed from the end: 3, 2, 2
  expect_returns(returns("best_so_far", 1, {1, 0, 3}), {3, 2, 2});
  expect_returns(returns("best_so_far", 0, {1, 0, 3}), {1, 0, 2});
  // gains 1, 0, 0: getting worse costs nothing
  expect_returns(returns("best_so_far", 1, {1, 0, 0.5}), {1, 0, 0});
  // a first failure worth −1 is no improvement: gains −1, 2
  expect_returns(returns("best_so_far", 0, {-1, 1}), {-1, 2});
}

TEST(Returns, TrajectoryMaxCreditsEveryTurnWithTheBestOne) {
  expect_returns(returns("trajectory_max", 0.4, {3, -1, 1}), {3, 3, 3});
  expect_returns(returns("trajectory_max", 0, {-1, 2, 1}), {2, 2, 2});
  expect_returns(returns("trajectory_max", 1, {-1, -1}), {-1, -1});
  // max looks ahead alone: turn 3 does not get turn 1's.
  expect_returns(returns("max", 1, {3, -1, 1}), {3, 1, 1});
}

// Folding from the end equals the closed form where rewards are negative too: max(−1, −0.4, −0.16) = −0.16.
TEST(Returns, DiscountedMaxOfFailures) {
  expect_returns(returns("max", 0.4, {-1, -1, -1}), {-0.16, -0.4, -1});
}

TEST(Returns, WhatDependsOnAMissingRewardIsMissing) {
  using Flags = std::vector<bool>;
  EXPECT_EQ(kept("sum", 0.4, 1), Flags({false, false, true}));
  EXPECT_EQ(kept("sum", 0, 1), Flags({true, false, true}));
  EXPECT_EQ(kept("max", 1, 2), Flags({false, false, false}));
  EXPECT_EQ(kept("last", 1, 0), Flags({false, true, true}));
  EXPECT_EQ(kept("last", 1, 2), Flags({false, false, false}));
  EXPECT_EQ(kept("trajectory_max", 1, 2), Flags({false, false, false}));
  EXPECT_EQ(kept("best_so_far", 0, 1), Flags({true, false, false}));
}

TEST(Returns, TheStreamsStayApart) {
  const SampleValues rewards = {{.plan = 0, .code = 1}, {.plan = 2, .code = 1}};
  const SampleValues result = sample_returns({.name = "sum", .discount = 0.5}, rewards);
  EXPECT_EQ(result[0].plan, 1);
  EXPECT_EQ(result[0].code, 1.5);
}

}  // namespace
}  // namespace temper::trainer
