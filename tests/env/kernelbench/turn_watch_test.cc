#include "env/box/sched_stat.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "base/error.h"
#include "env/box/clock.h"
#include "env/kernelbench/clock_page.h"
#include "env/verdict/timing.h"
#include "tests/env/busy_neighbours.h"

namespace temper::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Word = ClockPage::Word;

constexpr int kTurns = 9;

nanoseconds cpu_of(clockid_t clock) {
  timespec used{};
  ::clock_gettime(clock, &used);
  return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

void compute(nanoseconds time) {
  const nanoseconds until = cpu_of(CLOCK_THREAD_CPUTIME_ID) + time;
  while (cpu_of(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

// Medians of turns in which a process on that core does this, milliseconds.
struct Turns {
  double turn_ms = 0, left_ms = 0, helpers_ms = 0;  // `left`: without what it has waited
};

// Of the child, which has none of its parent's mappings.
void take_turns(int clock, const std::function<void()>& work) {
  const Mapping page(clock, ClockPage::kBytes);
  const auto word = [&](Word which) {
    return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(page.data() + 64 * int64_t(which)));
  };
  for (uint64_t turn = 1; turn <= kTurns; ++turn) {
    while (word(Word::kGo) != turn) ::sched_yield();
    work();
    word(Word::kDone) = turn;
  }
  ::pause();
}

Turns turns_of(int core, const std::function<void()>& work) {
  ClockPage clock;
  const BoxProcess process = BoxProcess::start([&] {
    pin_to_core(core);
    take_turns(clock.file(), work);
    return 0;
  });
  TurnWatch watch(process.pid());
  std::vector<double> turns, left, helpers;
  const auto ms = [](nanoseconds time) { return double(time.count()) * 1e-6; };
  for (uint64_t turn = 1; turn <= kTurns; ++turn) {
    ::usleep(2'000);
    const auto helpers_before = watch.helpers();
    watch.begin();
    const nanoseconds begun = raw_clock();
    clock.say(Word::kGo, turn);
    const auto wait = clock.wait(Word::kDone, turn, std::chrono::seconds(10), [] { return false; });
    const nanoseconds waited = watch.waited(wait.ended, wait.unseen);
    const auto helpers_after = watch.helpers();
    if (wait.end != ClockPage::End::kDone || !helpers_before || !helpers_after)
      throw WorldError("turn {} does not end or is not counted", turn);
    turns.push_back(ms(wait.ended - begun));
    left.push_back(ms(wait.ended - begun - waited));
    helpers.push_back(ms(*helpers_after - *helpers_before));
  }
  return {median(turns), median(left), median(helpers)};
}

TEST(TurnWatch, TellsWaitingForACoreFromWork) {
  const int core = last_core();
  const std::vector<BoxProcess> neighbours = busy_neighbours(core);
  const Turns nothing = turns_of(core, [] {});
  EXPECT_GT(nothing.turn_ms, 1);
  EXPECT_LT(nothing.left_ms, 0.5);
  const Turns work = turns_of(core, [] { compute(milliseconds(5)); });
  EXPECT_GT(work.turn_ms, 7);
  EXPECT_GE(work.left_ms, 4.9);
  EXPECT_LT(work.left_ms, 6.5);
  // A wait for the core that had begun before the turn is taken off, too.
  const Turns sleep = turns_of(core, [] { ::usleep(60'000); });
  EXPECT_GE(sleep.left_ms, 35);
}

// The first thread waits for a core on which another of its process computes.
TEST(TurnWatch, SeesWhatOtherThreadsRun) {
  const Turns turns = turns_of(last_core(), [] {
    std::atomic<bool> done = false;
    std::thread helper([&] { compute(milliseconds(10)), done = true; });
    while (!done) ::sched_yield();
    helper.join();
  });
  EXPECT_GE(turns.turn_ms, 10);
  EXPECT_GE(turns.helpers_ms, 9);
  EXPECT_LT(turns_of(last_core(), [] { compute(milliseconds(10)); }).helpers_ms, 1);
}

// Whoever keeps the core from the broker and computes is not excused by the broker's absence.
TEST(TurnWatch, DoesNotExcuseWhoHasTheBrokersCore) {
  cpu_set_t before;
  ::sched_getaffinity(0, sizeof before, &before);
  const int core = last_core();
  move_to_core(0, core);
  const Turns work = turns_of(core, [] { compute(milliseconds(3)); });
  ::sched_setaffinity(0, sizeof before, &before);
  EXPECT_GE(work.left_ms, 2.9);
}

TEST(TurnWatch, ExcusesAllOfWhoIsNotCounted) {
  const ClockPage clock;
  TurnWatch watch;
  watch.begin();
  const auto wait = clock.wait(Word::kDone, 1, milliseconds(5), [] { return false; });
  EXPECT_GE(watch.waited(wait.ended, wait.unseen), milliseconds(5));
  EXPECT_FALSE(watch.helpers());
}

}  // namespace
}  // namespace temper::env
