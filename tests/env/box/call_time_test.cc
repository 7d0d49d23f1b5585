#include "env/box/call_time.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "env/box/core_lease.h"
#include "env/box/namespaces.h"

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

void compute() {
  for (volatile unsigned i = 0;;) i = i + 1;
}

int first_core() {
  cpu_set_t cores;
  ::sched_getaffinity(0, sizeof cores, &cores);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &cores)) return core;
  return 0;
}

BoxProcess on_core(int core, void (*work)()) {
  return BoxProcess::start([core, work] {
    pin_to_core(core);
    work();
    return 0;
  });
}

TEST(CallWatch, ANeighbourOnTheCoreCostsNothing) {
  const int core = first_core();
  const BoxProcess process = on_core(core, compute), neighbour = on_core(core, compute),
                   another = on_core(core, compute);
  CallWatch watch(process.pid());
  CallTime time;
  for (int call = 0; call < 2; ++call) {  // the first looks idle, and so turns are asked for in the second
    watch.start();
    ::usleep(300'000);
    time = watch.stop();
  }
  EXPECT_LT(time.cpu, 2 * time.wall / 3);
  EXPECT_GT(time.waited, time.wall / 3);
  EXPECT_EQ(time.counted(), time.cpu);
}

TEST(CallWatch, WhoSleepsPaysForIt) {
  const BoxProcess process = on_core(first_core(), [] { ::pause(); });
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
