#include "env/kernelbench/turns/process_tree.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "env/box/clock.h"
#include "env/box/namespaces.h"
#include "env/box/shared_memory.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

// A process, a thread of its own, a child and one whose parent has ended count on in memory that we share.
class Counters {
 public:
  static constexpr int kCount = 4;

  Counters() : file_(sealed_memory("counters", 4096)), memory_(file_.get(), 4096) {}

  void count_in_all() const {
    if (::fork() == 0) count(1);
    if (::fork() == 0) {
      if (::fork() == 0) count(2);
      ::_exit(0);
    }
    std::thread([&] { count(3); }).detach();
    count(0);
  }

  std::array<uint64_t, kCount> read() const {
    std::array<uint64_t, kCount> values{};
    for (int i = 0; i < kCount; ++i) values[size_t(i)] = at(memory_, i);
    return values;
  }
  // Whether all have counted on since.
  bool grown(const std::array<uint64_t, kCount>& before) const {
    const auto now = read();
    for (size_t i = 0; i < kCount; ++i)
      if (now[i] == before[i]) return false;
    return true;
  }

 private:
  static std::atomic_ref<uint64_t> at(const Mapping& memory, int i) {
    return std::atomic_ref<uint64_t>(reinterpret_cast<uint64_t*>(memory.data())[8 * i]);
  }
  // A forked process has none of its parent's mappings.
  [[noreturn]] void count(int i) const {
    const Mapping memory(file_.get(), 4096);
    for (;;) ++at(memory, i), ::sched_yield();
  }

  Fd file_;
  Mapping memory_;
};

TEST(ProcessTree, StopsAllThatAProcessHasStarted) {
  const Counters counters;
  const BoxProcess process = BoxProcess::start([&] {
    counters.count_in_all();
    return 0;
  });
  ProcessTree tree(process.pid());
  for (int round = 0; round < 20; ++round) {
    const auto before = counters.read();
    ASSERT_TRUE(comes_true([&] { return counters.grown(before); }));
    tree.stop(kPatience_ms);
    const auto stopped = counters.read();
    ::usleep(20'000);
    EXPECT_EQ(counters.read(), stopped);
    tree.resume();
  }
}

TEST(ProcessTree, IsStoppedWhereItHasEnded) {
  BoxProcess process = BoxProcess::start([] { return 3; });
  ProcessTree tree(process.pid());
  ASSERT_TRUE(process.wait(kPatience_ms));
  tree.stop(kPatience_ms);
  tree.resume();
}

}  // namespace
}  // namespace temper::env
