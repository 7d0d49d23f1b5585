#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <locale>

#include "base/error.h"
#include "base/machine/surroundings.h"

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

TEST(Subprocess, SignalsDoNotHideThatAProgramIsMissing) {
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  struct sigaction before;
  ASSERT_EQ(::sigaction(SIGALRM, &nothing, &before), 0);  // system calls are interrupted, not restarted
  const itimerval often{{0, 150}, {0, 150}}, never{};
  ::setitimer(ITIMER_REAL, &often, nullptr);
  int named = 0;
  for (int i = 0; i < 300; ++i) {
    try {
      Subprocess::start({"/no/such/program"});
    } catch (const WorldError&) {
      ++named;
    }
  }
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(named, 300);
}

TEST(Process, BeginsWithDescriptorsAModeAndAPointWhateverSurroundsIt) {
  const std::string file = testing::TempDir() + "/begins_" + std::to_string(::getpid());
  const pid_t child = ::fork();
  if (child == 0) {
    for (int standard = 0; standard < 3; ++standard) ::close(standard);
    ::umask(0777);
    begin_process();
    const Fd made(::open(file.c_str(), O_WRONLY | O_CREAT, 0644));
    struct stat found {};
    const bool right = made.get() > 2 && ::fstat(made.get(), &found) == 0 && (found.st_mode & 0777) == 0600 &&
                       ::write(1, "lost", 4) == 4 && std::locale() == std::locale::classic();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::unlink(file.c_str());
}

TEST(Subprocess, SaysHowItEnded) {
  EXPECT_EQ(Subprocess().end(), "");
  Subprocess exits = Subprocess::start({"/bin/sh", "-c", "exit 7"}),
             dies = Subprocess::start({"/bin/sh", "-c", "kill -9 $$"}),
             stays = Subprocess::start({"/bin/sleep", "60"});
  char none;
  EXPECT_EQ(::recv(exits.socket(), &none, 1, 0), 0);
  EXPECT_EQ(::recv(dies.socket(), &none, 1, 0), 0);
  EXPECT_EQ(exits.end(), "ended with code 7");
  EXPECT_EQ(dies.end(), "was killed by signal 9 (Killed)");
  const pid_t pid = stays.pid();
  ::kill(pid, SIGSTOP);
  EXPECT_EQ(stays.end(), "");
  EXPECT_EQ(::kill(pid, 0), -1);
}

}  // namespace
}  // namespace temper
