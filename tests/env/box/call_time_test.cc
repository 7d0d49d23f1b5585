#include "env/box/call_time.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/env/busy_neighbours.h"

namespace temper::env {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(CallTime, CountsTheProcessorsTimeAndTheWallsOfWhoIdles) {
  EXPECT_EQ((CallTime{microseconds(900), microseconds(800), microseconds(0)}.counted()), microseconds(800));
  // A neighbour had the core for most of it.
  EXPECT_EQ((CallTime{milliseconds(9), microseconds(800), milliseconds(8)}.counted()), microseconds(800));
  EXPECT_EQ((CallTime{milliseconds(9), microseconds(800), microseconds(0)}.counted()), milliseconds(9));
  // A hand-over takes some time in which nobody computes.
  EXPECT_EQ((CallTime{microseconds(90), microseconds(5), microseconds(0)}.counted()), microseconds(5));
  EXPECT_EQ(least_wall({{microseconds(3), {}, {}}, {microseconds(2), {}, {}}}), microseconds(2));
}

// Calls end when the kernel has counted so much of the process that no wait that still goes on weighs.
TEST(CallWatch, ANeighbourOnTheCoreCostsNothing) {
  const std::vector<BoxProcess> neighbours = busy_neighbours(last_core(), 3);
  const BoxProcess& process = neighbours[0];
  CallWatch watch(process.pid());
  CallTime time;
  for (int call = 0; call < 2; ++call) {  // the first looks idle, and so turns are asked for in the second
    const ThreadTimes begin = times_of(process);
    watch.start();
    EXPECT_TRUE(comes_true([&] {
      const ThreadTimes now = times_of(process);
      const auto ran = now.ran - begin.ran, delayed = now.delayed - begin.delayed;
      return ran > milliseconds(200) && delayed > ran * 3 / 2;  // in the end it is twice as much
    }));
    time = watch.stop();
  }
  EXPECT_GE(time.cpu, milliseconds(200));
  EXPECT_GT(time.waited, milliseconds(300));
  EXPECT_GT(time.wall, 2 * time.cpu);
  EXPECT_EQ(time.counted(), time.cpu);
}

TEST(CallWatch, WhoSleepsPaysForIt) {
  const BoxProcess process = BoxProcess::start([] { return ::pause(); });
  EXPECT_TRUE(comes_true([&] { return is_asleep(process); }));
  CallWatch watch(process.pid());
  CallTime time;
  for (int call = 0; call < 2; ++call) {
    watch.start();
    ::usleep(50'000);
    time = watch.stop();
  }
  EXPECT_LT(time.cpu, milliseconds(10));
  EXPECT_EQ(time.counted(), time.wall);
}

TEST(CallWatch, OfWhoHasEndedTheWallSpeaks) {
  BoxProcess process = BoxProcess::start([] { return 0; });
  CallWatch watch(process.pid());
  process.kill();
  watch.start();
  ::usleep(2'000);
  const CallTime time = watch.stop();
  EXPECT_EQ(time.cpu, time.wall);
  EXPECT_GE(time.wall, milliseconds(2));
}

}  // namespace
}  // namespace temper::env
