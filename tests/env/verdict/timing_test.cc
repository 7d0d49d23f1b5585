#include "env/verdict/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"

namespace temper::env {
namespace {

TEST(Timing, SpreadIsHalfTheRangeOfTheMiddleHalf) {
  EXPECT_EQ(spread({5}), 0);
  EXPECT_EQ(spread({100, 8, 12, 10, 1}), 0.2);  // of 1, 8, 10, 12, 100
  EXPECT_EQ(spread({4, 4, 4, 4, 4, 4, 400}), 0);
}

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

TEST(Timing, MedianOfOddAndEven) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

// The 95 % interval's place among the means of pairs as tables of the signed-rank test give it.
TEST(Timing, IntervalBySignedRanks) {
  for (const auto& [n, critical] :
       {std::pair{6, 0}, {7, 2}, {8, 3}, {9, 5}, {10, 8}, {15, 25}, {21, 58}, {30, 137}}) {
    std::vector<double> values, means;
    for (const double i : one_to(n)) {
      values.push_back(std::exp2(i));
      for (const double j : one_to(int(i))) means.push_back(std::exp2((i + j) / 2));
    }
    std::sort(means.begin(), means.end());
    const Interval interval = center_interval(values);
    EXPECT_DOUBLE_EQ(interval.low, means[size_t(critical)]) << n;
    EXPECT_DOUBLE_EQ(interval.high, means[means.size() - 1 - size_t(critical)]) << n;
    EXPECT_DOUBLE_EQ(interval.center, std::exp2((n + 1) / 2.0));
  }
  const Interval few = center_interval({3, 1, 2, 5, 4});
  EXPECT_EQ(few.low, 1);
  EXPECT_EQ(few.high, 5);
}

TEST(Timing, IntervalsOfVeryManyAreThoseOfANormalSum) {
  Rng rng({8});
  std::vector<double> values(1100);
  for (auto& value : values) value = std::exp(0.1 * rng.normal());
  const Interval interval = center_interval(values);
  EXPECT_LT(interval.low, interval.center);
  EXPECT_GT(interval.high, interval.center);
  EXPECT_NEAR(interval.high / interval.low, std::exp(2 * 1.96 * 0.1 / std::sqrt(1100) / std::sqrt(3 / M_PI)),
              2e-3);
}

TEST(Timing, WhatIsFarOffMovesTheCenterLittle) {
  const Interval clean = center_interval({1.00, 1.01, 0.99, 1.00, 1.02, 0.98, 1.00});
  const Interval spoilt = center_interval({1.00, 1.01, 0.99, 1.00, 1.02, 0.98, 100});
  EXPECT_NEAR(clean.center, 1, 1e-3);
  EXPECT_NEAR(spoilt.center, 1, 0.02);
}

TEST(Timing, IntervalCoversTheTrueCenterNineteenTimesInTwenty) {
  Rng rng({7});
  int covered = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(15);
    for (auto& value : values) value = std::exp(rng.normal());
    const Interval interval = center_interval(values);
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_GE(covered, kTrials * 0.95);
  EXPECT_LE(covered, kTrials * 0.98);
}

TEST(Timing, StopsEarlyOnlyWhereMorePairsWouldNotHelp) {
  const std::vector<double> slow{0.5, 0.6, 0.4, 0.5, 0.7, 0.3, 0.5}, tight(7, 2.0);
  const std::vector<double> wide{1.5, 2.6, 0.4, 1.5, 0.7, 3.3, 1.5};
  EXPECT_TRUE(enough_pairs(slow, 7, 21, 0.04));
  EXPECT_TRUE(enough_pairs(tight, 7, 21, 0.04));
  EXPECT_FALSE(enough_pairs(wide, 7, 21, 0.04));
  EXPECT_TRUE(enough_pairs(wide, 7, 21, 10));
  EXPECT_TRUE(enough_pairs(wide, 7, 7, 0.04));
  EXPECT_FALSE(enough_pairs({0.5, 0.5}, 7, 21, 0.04));
}

TEST(Timing, FloorIsTheSlowerRoofHalved) {
  const Roofs roofs{.bytes_per_s = 1e9, .flops_per_s = 1e10};
  EXPECT_DOUBLE_EQ(floor_us(1e6, 0, roofs), 500);
  EXPECT_DOUBLE_EQ(floor_us(1e6, 1e8, roofs), 5000);
  EXPECT_DOUBLE_EQ(roof_us(1e6, 1e8, roofs), 10000);
}

TEST(Timing, RoofsOfThisMachineAreBelievable) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "instrumented, the roof is measured too low";
#endif
  const Roofs roofs = measure_roofs();
  EXPECT_GT(roofs.bytes_per_s, 2e9);
  EXPECT_LT(roofs.bytes_per_s, 1e14);
  EXPECT_GT(roofs.flops_per_s, 1e9);
  EXPECT_LT(roofs.flops_per_s, 1e15);
}

}  // namespace
}  // namespace temper::env
