#include "base/machine/lease.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "tests/patience.h"

namespace temper {
namespace {

// A part that no other test asks for.
std::string part(const char* name) { return fmt::format("test-{}-{}", name, ::getpid()); }

class Lease : public testing::Test {
 protected:
  ~Lease() override {
    forget_interrupt();
    for (const char* name : {"one", "fair"})
      for (const char* kind : {"", "-turn"})
        std::filesystem::remove(std::filesystem::temp_directory_path() /
                                fmt::format("temper-{}-{}{}.lock", ::geteuid(), part(name), kind));
  }
};

TEST_F(Lease, IsHeldByOneAndSaysByWhom) {
  const Fd held = lease(part("one"));
  LeaseWait other(part("one"));
  EXPECT_FALSE(other.try_now());
  EXPECT_TRUE(other.holder().starts_with(fmt::format("pid {} (", ::getpid()))) << other.holder();
  EXPECT_NE(other.holder().find("base_tests"), std::string::npos) << other.holder();
}

TEST_F(Lease, AWaitEndsWithAnInterruptOrWhenItIsGivenUp) {
  const Fd held = lease(part("one"));
  int asked = 0, told = 0;
  EXPECT_FALSE(lease(part("one"), [&] { return ++asked == 600; }, [&](const LeaseWait&) { ++told; }));
  EXPECT_GE(told, 1);  // 600 times two milliseconds
  interrupt();
  EXPECT_THROW(lease(part("one")), WorldError);  // which would else wait for ever
}

TEST_F(Lease, EndsWithAProcessThatIsKilled) {
  const std::string one = part("one");
  const pid_t child = ::fork();
  if (child == 0) {
    const Fd held = lease(one);
    for (;;) ::pause();
  }
  LeaseWait wait(one);
  const auto is_its_own = [&] { return wait.holder().starts_with(fmt::format("pid {} (", child)); };
  // It holds the part before it says so.
  EXPECT_TRUE(comes_true(is_its_own)) << wait.holder();
  EXPECT_FALSE(LeaseWait(one).try_now());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(lease(one));
}

// Who gives the part back and asks again at once does not keep it for ever from another who waits.
TEST_F(Lease, WhoWaitsHasItsTurn) {
  std::atomic<bool> ended{false};
  std::atomic<int> leases{0};
  std::thread greedy([&] {
    Fd held;
    while (!ended) {
      held = Fd();  // for microseconds
      held = lease(part("fair"));
      ++leases;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_TRUE(comes_true([&] { return leases > 0; }));
  const int before = leases;
  const double start = now_s();
  EXPECT_TRUE(lease(part("fair"), [&] { return now_s() - start > kPatience_s; }));
  // Each second in which the one that waits is not scheduled at all costs it a turn.
  EXPECT_LT(leases - before, 10);
  ended = true;
  greedy.join();
}

TEST_F(Lease, WaitsAreSaidAfterTenSecondsAndThenEachMinute) {
  std::vector<int> said;
  for (int second = 1; second < 150; ++second)
    if (says_wait_now(second + 0.001)) said.push_back(second);
  EXPECT_EQ(said, (std::vector<int>{10, 70, 130}));
}

}  // namespace
}  // namespace temper
