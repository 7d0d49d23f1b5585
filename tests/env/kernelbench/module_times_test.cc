#include "env/kernelbench/module_times.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace temper::env {
namespace {

CandidateProcess::Call call_of(double us, double rest_us) {
  CandidateProcess::Call call;
  call.us = us, call.rest_us = rest_us;
  return call;
}

CandidateProcess::Call baseline_of(double us, double rest_us, double own_us) {
  CandidateProcess::Call call = call_of(us, rest_us);
  call.answer.json = {{"own_us", own_us}};
  return call;
}

// A clock that reads more of every call by what turns of processes cost, which is another amount in each pair.
ModulePairs pairs_of(double candidate_us, double candidate_rest_us) {
  ModulePairs pairs;
  for (int i = 0; i < 9; ++i) {
    const double turn_us = 350 + 5 * (i % 3);
    pairs.add(call_of(candidate_us + turn_us, candidate_rest_us), baseline_of(550 + turn_us, 1800 + i, 550));
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
  const ModulePairs pairs = pairs_of(275, 1800);
  EXPECT_DOUBLE_EQ(pairs.overhead().call_us, 355);
  EXPECT_NEAR(speedup_of(pairs), 2, 0.03);
  EXPECT_FALSE(pairs.works_on());
}

TEST(ModuleTimes, CountWhatIsDoneBeforeAndAfterTheCall) {
  const ModulePairs pairs = pairs_of(25, 1800 + 300);
  EXPECT_NEAR(pairs.late_us(), 250, 10);  // all but the slack
  EXPECT_NEAR(speedup_of(pairs), 2, 0.05);
  EXPECT_TRUE(pairs.works_on());
}

TEST(ModuleTimes, CountWhatOnlySomeCallsDoLate) {
  ModulePairs pairs;
  for (int i = 0; i < 20; ++i) {
    const double late_us = i % 3 ? 300 : 0;
    pairs.add(call_of(400 + 350 - late_us, 1800 + late_us), baseline_of(400 + 350, 1800 + i % 4, 400));
  }
  EXPECT_NEAR(pairs.late_us(), 250, 5);
  EXPECT_LT(speedup_of(pairs), 1.2);
}

// Rests of honest calls differ from process to process.
TEST(ModuleTimes, DoNotCountWhatRestsDifferBy) {
  const ModulePairs pairs = pairs_of(275, 1800 + 40);
  EXPECT_EQ(pairs.late_us(), 0);
  EXPECT_NEAR(speedup_of(pairs), 2, 0.03);
}

// Where the baseline's own rests vary by more, so do those of an honest candidate.
TEST(ModuleTimes, DoNotCountWhatABusyMachineAdds) {
  ModulePairs pairs;
  for (int i = 0; i < 21; ++i)
    pairs.add(call_of(400, 1880 + 40 * (i % 7)), baseline_of(400, 1800 + 80 * (i % 7), 50));
  EXPECT_EQ(pairs.late_us(), 0);
}

// A kernel waits until other processes have had their turns. Who is done before has computed on the host.
TEST(ModuleTimes, CountAllOfACallThatDidNotWaitForTheGpu) {
  const ModulePairs pairs = pairs_of(-250, 1800);
  EXPECT_NEAR(speedup_of(pairs), 550.0 / 105, 0.3);
}

// Another program has the core of the candidate's process for a while, now and then, and never that of the baseline's.
TEST(ModuleTimes, DoNotTakeABusyCoreForWorkThatGoesOn) {
  for (const int pairs_made : {20, 63}) {
    ModulePairs pairs;
    for (int i = 0; i < pairs_made; ++i)
      pairs.add(call_of(400, 1900 + 100 * (17 * i % 40)), baseline_of(400, 1800 + 7 * (i % 3), 50));
    EXPECT_FALSE(pairs.works_on()) << pairs_made;
  }
}

// One call in five of either is held up for a long time, as on a busy machine.
TEST(ModuleTimes, TellWorkThatGoesOnFromABusyMachine) {
  const auto works_on = [](double work_us) {
    ModulePairs pairs;
    for (int i = 0; i < 63; ++i) {
      const double held_us = i % 5 == 2 ? 4000 : 0, also_held_us = i % 5 == 4 ? 4000 : 0;
      pairs.add(call_of(400, 1800 + 7 * (i % 4) + work_us + held_us),
                baseline_of(400, 1800 + 7 * (i % 3) + also_held_us, 50));
    }
    return pairs.works_on();
  };
  EXPECT_FALSE(works_on(0));
  EXPECT_FALSE(works_on(15));
  EXPECT_TRUE(works_on(200));
}

// Pairs of calls of which the candidate's end so much later, and of what is later it has waited so much for cores while threads of its
// own ran for so long. The baseline has waited in half of its calls.
ModulePairs pairs_later(double later_us, double waited_us, double helpers_us) {
  ModulePairs pairs;
  for (int i = 0; i < 15; ++i) {
    const double held_us = i % 2 ? 3900 : 0, varies_us = 7 * (i % 4);
    CandidateProcess::Call candidate = call_of(7900, 2900 + varies_us + later_us);
    candidate.waited_us = waited_us, candidate.helpers_us = helpers_us;
    CandidateProcess::Call baseline = baseline_of(4000, 2900 + held_us, 50);
    baseline.waited_us = held_us;
    pairs.add(candidate, baseline);
  }
  return pairs;
}

// Its core is one that others use, and that of the baseline's is not. So it was with an honest module that had the broker's own core.
TEST(ModuleTimes, DoNotTakeWaitingForACoreInEachCallForWorkThatGoesOn) {
  EXPECT_TRUE(pairs_later(7900, 0, 0).works_on());
  const ModulePairs waited = pairs_later(7900, 7800, 0);
  EXPECT_FALSE(waited.works_on());
  EXPECT_FALSE(waited.may_work_on());
  EXPECT_GT(waited.late_us(), 0);  // but it is counted
}

TEST(ModuleTimes, FindWorkThatGoesOnBesideWaitingForACore) {
  EXPECT_TRUE(pairs_later(7900 + 3000, 7900, 0).works_on());
}

// A thread that waits for a core may wait for one on which its own process works.
TEST(ModuleTimes, AccuseNobodyForWaitingForThreadsOfItsOwn) {
  const ModulePairs pairs = pairs_later(7900, 7800, 7000);
  EXPECT_FALSE(pairs.works_on());
  EXPECT_TRUE(pairs.may_work_on());
}

// There all of a rest may be waiting, and all may be work.
TEST(ModuleTimes, AccuseNobodyWhereTheKernelDoesNotCount) {
  const auto uncounted = [](double later_us) {
    ModulePairs pairs;
    for (int i = 0; i < 15; ++i) {
      CandidateProcess::Call candidate = call_of(400, 1800 + 7 * (i % 4) + later_us),
                             baseline = baseline_of(400, 1800 + 7 * (i % 3), 50);
      for (CandidateProcess::Call* call : {&candidate, &baseline})
        call->waited_us = call->helpers_us = call->rest_us;
      pairs.add(candidate, baseline);
    }
    return pairs;
  };
  EXPECT_FALSE(uncounted(4000).works_on());
  EXPECT_TRUE(uncounted(4000).may_work_on());
  EXPECT_FALSE(uncounted(0).may_work_on());
}

TEST(ModuleTimes, AreNeverBelowWhatTheOverheadVariesBy) {
  const ModulePairs pairs = pairs_of(-200, 1800);
  EXPECT_GT(pairs.overhead().call_spread_us, 0);
  const TimedPairs times = pairs.times();
  for (const double ratio : times.ratios()) EXPECT_LE(ratio, 560 / pairs.overhead().call_spread_us);
}

// A call that takes 90 us was once seen to take 80, on a clock that varies by more.
TEST(ModuleTimes, BelowAFloorByLessThanTheClockVariesAreNotAccused) {
  const ModulePairs pairs = pairs_of(80, 1800);
  const double varies_us = pairs.overhead().call_spread_us;
  EXPECT_GT(varies_us, 0);
  const TimeBounds bounds = pairs.bounds_of({.floor_us = 80 + varies_us / 2, .roof_us = 88});
  EXPECT_DOUBLE_EQ(bounds.floor_us, 80 - varies_us / 2);
  EXPECT_EQ(bounds.roof_us, 88);
  EXPECT_EQ(pairs.bounds_of({.floor_us = varies_us / 2}).floor_us, 0);
}

TEST(ModuleTimes, RefuseABaselineThatTakesLongerThanItsCall) {
  ModulePairs pairs;
  EXPECT_THROW(pairs.add(call_of(400, 1800), baseline_of(500, 1800, 501)), WorldError);
  EXPECT_THROW(pairs.add(call_of(400, 1800), call_of(500, 1800)), WorldError);
}

}  // namespace
}  // namespace temper::env
