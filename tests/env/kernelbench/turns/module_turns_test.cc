#include "env/kernelbench/turns/module_turns.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "env/box/clock.h"
#include "env/box/namespaces.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

using std::chrono::milliseconds;

// Lanes of a GPU that is no other test's. The one that is made last is this process's own.
std::string gpu_of_this_test(const char* name) { return fmt::format("test-{}-{}", ::getpid(), name); }

// A process that counts in memory that we share.
class Counting {
 public:
  Counting() : file_(sealed_memory("count", 4096)), memory_(file_.get(), 4096) {
    process_ = BoxProcess::start([this] {
      const Mapping mine(file_.get(), 4096);
      for (;;) ++value(mine), ::usleep(100);
      return 0;
    });
  }
  pid_t pid() const { return process_.pid(); }
  uint64_t read() const { return value(memory_); }
  bool runs() const {
    const uint64_t before = read();
    return comes_true([&] { return read() > before + 3; });
  }
  bool rests() const {
    const uint64_t before = read();
    ::usleep(30'000);
    return read() == before;
  }

 private:
  static std::atomic_ref<uint64_t> value(const Mapping& memory) {
    return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(memory.data()));
  }
  Fd file_;
  Mapping memory_;
  BoxProcess process_;
};

TEST(ModuleTurns, StopAllOthersWhileOneIsAlone) {
  const std::string gpu = gpu_of_this_test("alone");
  const Counting its, mine;
  ModuleTurns first(gpu), own(gpu);
  first.tell({its.pid()});
  own.tell({mine.pid()});
  EXPECT_TRUE(its.runs() && mine.runs());
  {
    const ModuleTurns::Alone alone(first);
    EXPECT_TRUE(mine.rests());
    EXPECT_TRUE(its.runs());
  }
  EXPECT_TRUE(mine.runs());
}

// Nobody is out of time for having been stopped.
TEST(ModuleTurns, HaveAClockThatStandsStillMeanwhile) {
  const std::string gpu = gpu_of_this_test("clock");
  ModuleTurns first(gpu), own(gpu);
  const auto raw_before = raw_clock(), before = lane_clock();
  {
    const ModuleTurns::Alone alone(first);
    const auto stopped = lane_clock();
    ::usleep(30'000);
    EXPECT_EQ(lane_clock(), stopped);
  }
  const auto after = lane_clock(), raw_after = raw_clock();
  EXPECT_GE((raw_after - raw_before) - (after - before), milliseconds(30));
  ::usleep(10'000);
  EXPECT_GE(lane_clock() - after, milliseconds(10));
}

TEST(ModuleTurns, ShareMemoryInTheOrderInWhichItIsAskedFor) {
  const std::string gpu = gpu_of_this_test("memory");
  ModuleTurns first(gpu), second(gpu), third(gpu);
  first.claim(60, 100);
  std::atomic<int> served = 0;
  std::thread large([&] { second.claim(50, 100), served += 1; });
  ASSERT_TRUE(comes_true([&] { return first.memory_is_wanted(); }));
  std::thread small([&] { third.claim(30, 100), served += 10; });
  ::usleep(60'000);
  EXPECT_EQ(served, 0);  // the small one would fit, but is later
  first.claim(0, 100);
  large.join();
  small.join();
  EXPECT_EQ(served, 11);
  EXPECT_FALSE(first.memory_is_wanted());
}

TEST(ModuleTurns, GiveOneAloneWhatItAsksFor) {
  ModuleTurns alone(gpu_of_this_test("large"));
  alone.claim(1000, 100);
  EXPECT_FALSE(alone.memory_is_wanted());
}

}  // namespace
}  // namespace temper::env
