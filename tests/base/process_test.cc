#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/error.h"

namespace temper {
namespace {

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
