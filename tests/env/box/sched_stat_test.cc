#include "env/box/sched_stat.h"

#include <gtest/gtest.h>

#include "tests/env/busy_neighbours.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

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
