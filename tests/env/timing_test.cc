#include "env/timing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/rng.h"

namespace temper {
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

// The ranks of the 95 % interval as tables of the sign test give them.
TEST(Timing, IntervalByOrderStatistics) {
  for (const auto& [n, rank] :
       {std::pair{5, 1}, {6, 1}, {7, 1}, {9, 2}, {12, 3}, {15, 4}, {20, 6}, {21, 6}, {30, 10}}) {
    const Interval interval = median_interval(one_to(n));
    EXPECT_EQ(interval.low, rank) << n;
    EXPECT_EQ(interval.high, n + 1 - rank) << n;
    EXPECT_EQ(interval.median, (n + 1) / 2.0);
  }
}

TEST(Timing, IntervalCoversTheTrueMedianNineteenTimesInTwenty) {
  Rng rng({7});
  int covered = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(15);
    for (auto& value : values) value = std::exp(rng.normal());
    const Interval interval = median_interval(values);
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_GE(covered, kTrials * 0.95);
  EXPECT_LE(covered, kTrials * 0.98);
}

TEST(Timing, StopsEarlyOnlyWhereMorePairsWouldNotHelp) {
  const std::vector<double> slow{0.5, 0.6, 0.4, 0.5, 0.7, 0.3, 0.5}, tight(7, 2.0);
  const std::vector<double> wide{1.5, 2.6, 0.4, 1.5, 0.7, 3.3, 1.5};
  EXPECT_TRUE(enough_pairs(slow, 7, 21));
  EXPECT_TRUE(enough_pairs(tight, 7, 21));
  EXPECT_FALSE(enough_pairs(wide, 7, 21));
  EXPECT_TRUE(enough_pairs(wide, 7, 7));
  EXPECT_FALSE(enough_pairs({0.5, 0.5}, 7, 21));
}

TEST(Timing, FloorIsTheSlowerRoofHalved) {
  const Roofs roofs{.bytes_per_s = 1e9, .flops_per_s = 1e10};
  EXPECT_DOUBLE_EQ(floor_us(1e6, 0, roofs), 500);
  EXPECT_DOUBLE_EQ(floor_us(1e6, 1e8, roofs), 5000);
}

TEST(Timing, RoofsOfThisMachineAreBelievable) {
  const Roofs roofs = measure_roofs();
  EXPECT_GT(roofs.bytes_per_s, 2e9);
  EXPECT_LT(roofs.bytes_per_s, 1e14);
  EXPECT_GT(roofs.flops_per_s, 1e9);
  EXPECT_LT(roofs.flops_per_s, 1e15);
}

}  // namespace
}  // namespace temper
