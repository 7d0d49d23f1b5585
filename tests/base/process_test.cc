#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <thread>

#include "base/error.h"

namespace temper {
namespace {

using std::chrono::milliseconds;

struct Pair {
  Pair() {
    int fds[2];
    TEMPER_CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    a = Fd(fds[0]), b = Fd(fds[1]);
  }
  Fd a, b;
};

TEST(Messages, LargeOnesPassWhole) {
  Pair pair;
  const std::string big(1 << 20, 'x');
  std::thread sender([&] {
    EXPECT_TRUE(send_message(pair.a.get(), big));
    EXPECT_TRUE(send_message(pair.a.get(), ""));
  });
  EXPECT_EQ(receive_message(pair.b.get()), big);
  EXPECT_EQ(receive_message(pair.b.get()), "");
  sender.join();
}

TEST(Messages, SilenceAndDeathGiveNothing) {
  Pair pair;
  EXPECT_EQ(receive_message(pair.b.get(), milliseconds(20)), std::nullopt);
  pair.a = Fd();
  EXPECT_EQ(receive_message(pair.b.get()), std::nullopt);
  EXPECT_FALSE(send_message(pair.b.get(), "x"));
}

TEST(Messages, AnAbsurdLengthIsRefused) {
  Pair pair;
  const uint32_t size = 0xFFFFFFFF;
  ASSERT_EQ(::send(pair.a.get(), &size, sizeof size, 0), ssize_t(sizeof size));
  EXPECT_EQ(receive_message(pair.b.get(), milliseconds(1000)), std::nullopt);
}

TEST(Subprocess, TalksOnDescriptorThreeAndDiesWithItsOwner) {
  pid_t pid;
  {
    const Subprocess child = Subprocess::start({"/bin/sh", "-c", "cat <&3 >&3"});
    pid = child.pid();
    ASSERT_EQ(::send(child.socket(), "echo", 4, 0), 4);
    char reply[4];
    ASSERT_EQ(::recv(child.socket(), reply, 4, MSG_WAITALL), 4);
    EXPECT_EQ(std::string(reply, 4), "echo");
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(Subprocess, AMissingProgramIsNamed) {
  EXPECT_THROW(Subprocess::start({"/no/such/program"}), WorldError);
}

}  // namespace
}  // namespace temper
