#include "env/kernelbench/module_times.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace temper::env {
namespace {

CandidateProcess::Call call_of(double us) {
  CandidateProcess::Call call;
  call.us = us;
  return call;
}

CandidateProcess::Call baseline_of(double us, double own_us) {
  CandidateProcess::Call call = call_of(us);
  call.answer.json = {{"own_us", own_us}};
  return call;
}

// A clock that reads more of every call by what turns of processes cost, which is another amount in each pair.
ModulePairs pairs_of(double candidate_us) {
  ModulePairs pairs;
  for (int i = 0; i < 9; ++i) {
    const double turn_us = 350 + 5 * (i % 3);
    pairs.add(call_of(candidate_us + turn_us), baseline_of(550 + turn_us, 550));
  }
  return pairs;
}

double speedup_of(const ModulePairs& pairs) {
  const TimedPairs times = pairs.times();
  const std::vector<double>& ratios = times.ratios();
  double sum = 0;
  for (const double ratio : ratios) sum += ratio;
  return sum / double(ratios.size());
}

TEST(ModuleTimes, AreWithoutWhatTurnsOfProcessesCost) {
  const ModulePairs pairs = pairs_of(275);
  EXPECT_DOUBLE_EQ(pairs.overhead().call_us, 355);
  EXPECT_NEAR(speedup_of(pairs), 2, 0.03);
  EXPECT_DOUBLE_EQ(pairs.own_us(), 550);
}

// Whose calls in two of five are far shorter than anything can be, while their median is not.
TEST(ModuleTimes, CountCallsThatAreImpossible) {
  const auto below = [](double stolen_us) {
    ModulePairs pairs;
    for (int i = 0; i < 20; ++i)
      pairs.add(call_of(400 + 350 + i % 4 - (i % 5 < 2 ? stolen_us : 0)),
                baseline_of(400 + 350 + i % 4, 400));
    return pairs.below({.floor_us = 200});
  };
  EXPECT_EQ(below(0), 0);
  EXPECT_EQ(below(150), 0);
  EXPECT_EQ(below(300), 8);
}

// A clock that varies by much accuses nobody.
TEST(ModuleTimes, DoNotTakeNoiseForWhatIsImpossible) {
  ModulePairs pairs;
  for (int i = 0; i < 63; ++i)
    pairs.add(call_of(400 + 20 * (i % 9)), baseline_of(400 + 20 * (17 * i % 9), 60));
  EXPECT_EQ(pairs.below({.floor_us = 60}), 0);
}

TEST(ModuleTimes, AreNeverBelowWhatTheOverheadVariesBy) {
  const ModulePairs pairs = pairs_of(-200);
  EXPECT_GT(pairs.overhead().call_spread_us, 0);
  const TimedPairs times = pairs.times();
  for (const double ratio : times.ratios()) EXPECT_LE(ratio, 560 / pairs.overhead().call_spread_us);
}

// A call that takes 90 us was once seen to take 80, on a clock that varies by more.
TEST(ModuleTimes, BelowAFloorByLessThanTheClockVariesAreNotAccused) {
  const ModulePairs pairs = pairs_of(80);
  const double varies_us = pairs.overhead().call_spread_us;
  EXPECT_GT(varies_us, 0);
  const TimeBounds bounds = pairs.bounds_of({.floor_us = 80 + varies_us / 2, .roof_us = 88});
  EXPECT_DOUBLE_EQ(bounds.floor_us, 80 - varies_us / 2);
  EXPECT_EQ(bounds.roof_us, 88);
  EXPECT_EQ(pairs.bounds_of({.floor_us = varies_us / 2}).floor_us, 0);
}

TEST(ModuleTimes, RefuseABaselineThatTakesLongerThanItsCall) {
  ModulePairs pairs;
  EXPECT_THROW(pairs.add(call_of(400), baseline_of(500, 501)), WorldError);
  EXPECT_THROW(pairs.add(call_of(400), call_of(500)), WorldError);
}

}  // namespace
}  // namespace temper::env
