#include "env/procedure/judging.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace temper::env {
namespace {

// Pairs of these candidate's times, and of a baseline that takes `baseline` then `later`.
TimedPairs pairs_of(const std::vector<double>& candidate, double baseline = 10, double later = 10) {
  TimedPairs pairs;
  pairs.add(1000, 1000);  // warms up
  for (size_t i = 0; i < candidate.size(); ++i)
    pairs.add(candidate[i], 2 * i < candidate.size() ? baseline : later);
  return pairs;
}

TEST(TimedPairs, AreUnsteadyWhereTheCandidateAloneChanges) {
  EXPECT_TRUE(pairs_of({2, 2, 2, 5, 5, 5, 5, 5, 5}).unsteady());
  EXPECT_TRUE(pairs_of({5, 5, 5, 5, 5, 5, 2, 2, 2}).unsteady());
  EXPECT_FALSE(pairs_of({5, 5, 5, 5, 5, 5, 5, 5, 5}).unsteady());
  EXPECT_FALSE(pairs_of({5, 5, 5, 5, 5, 5, 4, 4, 4}).unsteady());        // no more than clocks change
  EXPECT_FALSE(pairs_of({2, 2, 5, 5, 5, 5, 5, 2, 5}).unsteady());        // now and then
  EXPECT_FALSE(pairs_of({2, 2, 2, 5, 5, 5, 5, 5, 5}, 4, 9).unsteady());  // and so does the baseline
  EXPECT_FALSE(pairs_of({2, 2, 5, 5, 5}).unsteady());                    // too few to say
  EXPECT_FALSE(TimedPairs().unsteady());
}

// What varies with the candidate alone is its own, and what lies below 1 is sure enough.
TEST(TimedPairs, DisagreeWhereTheMachineVaries) {
  const auto pairs_with = [](const std::vector<double>& candidate, const std::vector<double>& baseline) {
    TimedPairs pairs;
    pairs.add(1000, 1000);
    for (size_t i = 0; i < candidate.size(); ++i) pairs.add(candidate[i], baseline[i]);
    return pairs;
  };
  const std::vector<double> even(7, 10), wild{5, 30, 10, 6, 25, 12, 31};
  EXPECT_TRUE(pairs_with(even, wild).disagree());
  EXPECT_FALSE(pairs_with(wild, even).disagree());
  EXPECT_FALSE(pairs_with(even, even).disagree());
  EXPECT_FALSE(pairs_with(wild, wild).disagree());  // they vary together
  EXPECT_FALSE(pairs_with(std::vector<double>(7, 100), wild).disagree());
  EXPECT_FALSE(TimedPairs().disagree());
}

TEST(TimedPairs, GiveMediansAndNoise) {
  Task task;
  task.max_speedup = 50;
  Verdict verdict;
  EXPECT_FALSE(pairs_of({2, 4, 2, 2, 2}, 8, 10).weigh(task, {1}, verdict));
  EXPECT_EQ(verdict.candidate_us, 2);
  EXPECT_EQ(verdict.baseline_us, 8);
  EXPECT_EQ(verdict.speedup, 4);
  EXPECT_EQ(verdict.pairs, 5);
  EXPECT_EQ(verdict.noise, 0.125);
  EXPECT_EQ(pairs_of({2, 2}).weigh(task, {.floor_us = 3, .roof_us = 5}, verdict)->reason, "floor");
  EXPECT_EQ(verdict.floor_us, 3);
  EXPECT_EQ(verdict.roof_us, 5);
  task.max_speedup = 4;
  EXPECT_EQ(pairs_of({2, 2}).weigh(task, {1}, verdict)->reason, "max_speedup");
}

TEST(TimedPairs, WhatIsLongAndSlowIsTimedTwiceOrThrice) {
  EXPECT_TRUE(pairs_of({9000, 9000}).enough(7, 21));
  EXPECT_FALSE(pairs_of({9000}).enough(7, 21));
  EXPECT_FALSE(pairs_of({9000, 9000, 9000}).enough(9, 9));  // as many as that
  EXPECT_FALSE(pairs_of({400, 400, 400}).enough(7, 21));    // not long
  EXPECT_TRUE(pairs_of({9000, 9000, 9000}, 4000, 4000).enough(7, 21));
  EXPECT_FALSE(pairs_of({9000, 9000}, 4000, 4000).enough(7, 21));
  EXPECT_FALSE(pairs_of({9000, 9000, 9000}, 8000, 8000).enough(7, 21));  // not slow
}

TEST(TimedPairs, TheFirstCountsWhereWarmingUpDoesNotShow) {
  const auto ratios = [](double candidate, double baseline) {
    TimedPairs pairs;
    pairs.add(candidate, baseline);
    EXPECT_EQ(pairs.made(), 1);
    pairs.add(candidate + 2, baseline);
    Verdict verdict;
    pairs.weigh({}, {1}, verdict);
    EXPECT_EQ(verdict.candidate_us, pairs.ratios().size() == 2 ? candidate + 1 : candidate + 2);
    return pairs.ratios().size();
  };
  EXPECT_EQ(ratios(9000, 10), 2);
  EXPECT_EQ(ratios(9000, 8000), 1);  // not slow
  EXPECT_EQ(ratios(900, 10), 1);     // not long
}

// Device code that reaches the memory of its events could make its time anything.
TEST(TimedPairs, ATimeThatIsNoneIsAHackAndTheBaselinesIsOurFailure) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const double none : {0.0, -1.0, nan, infinite, -infinite}) {
    TimedPairs pairs = pairs_of({2, 2, 2});
    EXPECT_FALSE(pairs.enough(7, 21));
    pairs.add(none, 10);
    EXPECT_TRUE(pairs.enough(7, 21));
    Verdict verdict;
    const Found found = pairs.weigh({}, {1}, verdict);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, VerdictKind::kHack);
    EXPECT_EQ(found->reason, "clock");
    conclude(verdict, found);
    EXPECT_EQ(unsound(verdict), "");
    EXPECT_NE(verdict.message.find("a call's time is "), std::string::npos) << verdict.message;
    EXPECT_FALSE(pairs.unsteady());
    EXPECT_THROW(pairs.add(2, none), WorldError);
    TimedPairs first;
    first.add(none, 10);
    EXPECT_TRUE(first.weigh({}, {1}, verdict));
  }
}

// A call may seem to take no longer than an empty one.
TEST(NaiveOfTimes, ATimeThatIsNoneIsNoPass) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(naive_of_times(2, 3).pass);
  EXPECT_EQ(naive_of_times(2, 3).speedup, 1.5);
  for (const double none : {0.0, -1.0, nan, infinite, -infinite})
    for (const NaiveVerdict& verdict : {naive_of_times(none, 3), naive_of_times(2, none)}) {
      EXPECT_FALSE(verdict.pass) << none;
      EXPECT_EQ(verdict.speedup, 0) << none;
    }
  EXPECT_FALSE(naive_of_times(1e-300, 1e300).pass);
}

Verdict timed_verdict(double candidate_us, double baseline_us, double noise) {
  Verdict verdict;
  verdict.candidate_us = candidate_us;
  verdict.baseline_us = baseline_us;
  verdict.speedup = baseline_us / candidate_us;
  verdict.speedup_low = verdict.speedup / 2;
  verdict.speedup_high = verdict.speedup * 8;
  verdict.pairs = 7;
  verdict.noise = noise;
  verdict.audited = noise > 0.1;
  verdict.floor_us = 1;
  verdict.roof_us = 2;
  return verdict;
}

// Whichever is timed first.
TEST(ShapeTimes, OfSeveralAreOneScore) {
  ShapeTimes times;
  Verdict verdict = timed_verdict(1, 16, 0.2);
  times.take(1, {{"n", 5}}, verdict);
  EXPECT_EQ(verdict.candidate_us, 0);
  EXPECT_EQ(verdict.pairs, 0);
  EXPECT_FALSE(verdict.audited);
  verdict = timed_verdict(10, 10, 0.1);
  times.take(0, {{"n", 4}}, verdict);
  times.give(verdict);
  EXPECT_DOUBLE_EQ(verdict.speedup, 4);  // √(1 · 16)
  EXPECT_DOUBLE_EQ(verdict.speedup_low, 2);
  EXPECT_DOUBLE_EQ(verdict.speedup_high, 32);
  EXPECT_EQ(verdict.candidate_us, 11);
  EXPECT_EQ(verdict.baseline_us, 26);
  EXPECT_EQ(verdict.pairs, 14);
  EXPECT_EQ(verdict.noise, 0.2);
  EXPECT_TRUE(verdict.audited);
  EXPECT_EQ(verdict.floor_us, 2);
  EXPECT_EQ(verdict.roof_us, 4);
  ASSERT_EQ(verdict.shapes.size(), 2u);
  EXPECT_EQ(verdict.shapes[0].sizes, (Shape{{"n", 4}}));
  EXPECT_EQ(verdict.shapes[1].speedup, 16);
  EXPECT_EQ(verdict.shapes[1].speedup_low, 8);
  EXPECT_EQ(verdict.shapes[1].roof_us, 2);
}

TEST(ShapeTimes, OfOneAreAsTheyWere) {
  ShapeTimes times;
  Verdict verdict = timed_verdict(3, 7, 0.15);
  times.take(0, {{"n", 4}}, verdict);
  times.give(verdict);
  EXPECT_EQ(verdict.speedup, 7.0 / 3);  // to the bit
  EXPECT_EQ(verdict.speedup_low, 7.0 / 3 / 2);
  EXPECT_EQ(verdict.candidate_us, 3);
  EXPECT_EQ(verdict.pairs, 7);
  EXPECT_TRUE(verdict.audited);
  EXPECT_TRUE(verdict.shapes.empty());
}

}  // namespace
}  // namespace temper::env
