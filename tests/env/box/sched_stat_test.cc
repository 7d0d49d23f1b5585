#include "env/box/sched_stat.h"

#include <gtest/gtest.h>

#include "tests/env/busy_neighbours.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Of a turn of 20 ms.
nanoseconds waited_ms(int64_t ran, int64_t delayed, int64_t unseen) {
  const ThreadTimes before{.ran = milliseconds(100), .delayed = milliseconds(1000)};
  const ThreadTimes after{.ran = before.ran + milliseconds(ran),
                          .delayed = before.delayed + milliseconds(delayed)};
  return waited_in(milliseconds(20), before, after, milliseconds(unseen));
}

TEST(WaitedIn, IsWhatTheKernelCountsAndWhatWasNotSeen) {
  EXPECT_EQ(waited_ms(3, 0, 0), milliseconds(0));
  EXPECT_EQ(waited_ms(3, 7, 0), milliseconds(7));
  EXPECT_EQ(waited_ms(3, 7, 2), milliseconds(9));
  EXPECT_EQ(waited_ms(0, 0, 2), milliseconds(2));
}

// Neither is more than a part of the turn: the wait may have begun before it, and what was not seen may have been work.
TEST(WaitedIn, IsNothingThatTheThreadRan) {
  EXPECT_EQ(waited_ms(3, 60, 0), milliseconds(17));
  EXPECT_EQ(waited_ms(18, 0, 9), milliseconds(2));
  EXPECT_EQ(waited_ms(20, 60, 9), milliseconds(0));
  EXPECT_EQ(waited_ms(21, 60, 9), milliseconds(0));
}

TEST(WaitedIn, IsAllOfATurnThatIsNotCounted) {
  EXPECT_EQ(waited_in(milliseconds(20), std::nullopt, ThreadTimes{}, nanoseconds(0)), milliseconds(20));
  EXPECT_EQ(waited_in(milliseconds(20), ThreadTimes{}, std::nullopt, nanoseconds(0)), milliseconds(20));
}

// Who shares its core with others comes to have run, and to have waited; who is stopped does neither.
TEST(SchedStat, CountsRunningAndWaitingAndNothingElse) {
  const std::vector<BoxProcess> neighbours = busy_neighbours(last_core());
  const BoxProcess &watched = neighbours[0], &other = neighbours[1];
  const ThreadTimes begin = times_of(watched);
  EXPECT_TRUE(has_run(watched, milliseconds(20)));
  EXPECT_TRUE(comes_true([&] { return times_of(watched).delayed > begin.delayed + milliseconds(20); }));
  watched.stop();
  EXPECT_TRUE(has_run(other, milliseconds(50)));  // and so it has left the core by now
  const ThreadTimes stopped = times_of(watched);
  EXPECT_TRUE(has_run(other, milliseconds(50)));
  EXPECT_EQ(times_of(watched).ran, stopped.ran);
  EXPECT_EQ(times_of(watched).delayed, stopped.delayed);
}

TEST(SchedStat, SaysNothingOfNobody) {
  EXPECT_FALSE(SchedStat().read());
  BoxProcess process = BoxProcess::start([] { return 0; });
  const SchedStat watched(process.pid());
  process.kill();
  EXPECT_FALSE(watched.read());
}

TEST(ProcessClock, CountsWhatThreadsRun) {
  BoxProcess process = std::move(busy_neighbours(last_core())[0]);
  const ProcessClock clock(process.pid());
  ASSERT_TRUE(clock.read());
  const nanoseconds until = *clock.read() + milliseconds(20);
  EXPECT_TRUE(comes_true([&] { return *clock.read() > until; }));
  process.kill();
  EXPECT_FALSE(clock.read());
}

}  // namespace
}  // namespace temper::env
