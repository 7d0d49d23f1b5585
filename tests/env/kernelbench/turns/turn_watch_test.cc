// What the kernel counts of a process that takes turns with us, in turns that are arranged so that it must. How long a turn takes is the
// machine's to say: what is looked at are parts of it, and bounds that hold however often others have the cores.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "env/box/clock.h"
#include "env/box/sched_stat.h"
#include "env/kernelbench/turns/clock_page.h"
#include "tests/env/busy_neighbours.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Word = ClockPage::Word;

// Clocks of CPU time and of the wall differ by less.
constexpr nanoseconds kClocks{50'000};

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

// A turn of the process; `left`: without what it has waited.
struct Turn {
  nanoseconds turn{0}, left{0}, unseen{0};
};

// A process that does the same in each of its turns, on a core.
class TurnTaker {
 public:
  // Until its turn begins it offers its core again and again, or sleeps.
  enum class Between : uint8_t { kOffersItsCore, kSleeps };

  TurnTaker(int core, const std::function<void()>& work, Between between = Between::kOffersItsCore)
      : between_(between), pipe_(made_pipe()) {
    process_ = BoxProcess::start([&] {
      pin_to_core(core);
      take_turns(work);
      return 0;
    });
    watch_ = TurnWatch(process_.pid());
  }

  Turn take() {
    const bool sleeps = between_ == Between::kSleeps;
    EXPECT_TRUE(!sleeps || comes_true([&] { return is_asleep(process_); }));
    watch_.begin();
    const nanoseconds begun = raw_clock();
    clock_.say(Word::kGo, ++turn_);
    EXPECT_TRUE(!sleeps || ::write(pipe_.writing.get(), "x", 1) == 1);
    const auto wait = clock_.wait(Word::kDone, turn_, kPatience_ms, [] { return false; });
    const nanoseconds turn = wait.ended - begun, waited = watch_.waited(wait.ended, wait.unseen);
    EXPECT_EQ(wait.end, ClockPage::End::kDone);
    return {turn, turn - waited, wait.unseen};
  }

 private:
  struct Pipe {
    Fd reading, writing;
  };
  static Pipe made_pipe() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    return {Fd(ends[0]), Fd(ends[1])};
  }

  // Of the child, which has none of its parent's mappings.
  void take_turns(const std::function<void()>& work) {
    const Mapping page(clock_.file(), ClockPage::kBytes);
    const auto word = [&](Word which) {
      return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(page.data() + 64 * int64_t(which)));
    };
    char byte;
    for (uint64_t turn = 1;; ++turn) {
      if (between_ == Between::kSleeps && ::read(pipe_.reading.get(), &byte, 1) != 1) return;
      while (word(Word::kGo) != turn) ::sched_yield();
      work();
      word(Word::kDone) = turn;
    }
  }

  const Between between_;
  const Pipe pipe_;
  ClockPage clock_;
  BoxProcess process_;
  TurnWatch watch_;
  uint64_t turn_ = 0;
};

// Turns until the process has waited for so long in all of them together.
struct Turns {
  int count = 0;
  nanoseconds turn{0}, left{0};
};
Turns turns_with_waits(TurnTaker& taker, nanoseconds waits) {
  Turns turns;
  EXPECT_TRUE(comes_true([&] {
    const Turn one = taker.take();
    ++turns.count, turns.turn += one.turn, turns.left += one.left;
    return turns.turn - turns.left >= waits;
  }));
  return turns;
}

TEST(TurnWatch, TakesOffWaitingForACore) {
  const std::vector<BoxProcess> neighbours = busy_neighbours(last_core());
  TurnTaker nothing(last_core(), [] {});
  const Turns turns = turns_with_waits(nothing, milliseconds(100));
  EXPECT_LT(turns.left, turns.turn / 2);
}

TEST(TurnWatch, LeavesTheWorkOfWhoWaits) {
  constexpr nanoseconds kWork = milliseconds(5);
  const std::vector<BoxProcess> neighbours = busy_neighbours(last_core());
  TurnTaker work(last_core(), [] { compute(kWork); });
  const Turns turns = turns_with_waits(work, milliseconds(100));
  EXPECT_GE(turns.left, turns.count * (kWork - kClocks));
  EXPECT_LT(turns.left, turns.count * kWork * 3 / 2);
}

// Who sleeps when its turn begins has not waited for a core before. While it sleeps in its turn it does not, either.
TEST(TurnWatch, LeavesTheSleepOfWhoWaits) {
  constexpr milliseconds kSleep{60};
  const std::vector<BoxProcess> neighbours = busy_neighbours(last_core());
  TurnTaker sleep(last_core(), [] { ::usleep(60'000); }, TurnTaker::Between::kSleeps);
  for (int i = 0; i < 5; ++i) {
    const Turn turn = sleep.take();
    EXPECT_GE(turn.left + turn.unseen, kSleep - kClocks);
  }
}

// Whoever keeps the core from the broker and computes is not excused by the broker's absence.
TEST(TurnWatch, DoesNotExcuseWhoHasTheBrokersCore) {
  constexpr nanoseconds kWork = milliseconds(3);
  const OnCore broker(last_core());
  TurnTaker work(last_core(), [] { compute(kWork); });
  for (int i = 0; i < 5; ++i) EXPECT_GE(work.take().left, kWork - kClocks);
}

TEST(TurnWatch, ExcusesAllOfWhoIsNotCounted) {
  const ClockPage clock;
  TurnWatch watch;
  watch.begin();
  const auto wait = clock.wait(Word::kDone, 1, milliseconds(5), [] { return false; });
  EXPECT_GE(watch.waited(wait.ended, wait.unseen), milliseconds(5));
}

}  // namespace
}  // namespace temper::env
