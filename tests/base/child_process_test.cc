#include "base/machine/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/machine/cores.h"

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

TEST(Subprocess, SaysHowItEnded) {
  EXPECT_EQ(Subprocess().end(), "");
  Subprocess exits = Subprocess::start({"/bin/sh", "-c", "exit 7"}),
             dies = Subprocess::start({"/bin/sh", "-c", "kill -9 $$"}),
             stays = Subprocess::start({"/bin/sleep", "60"});
  char none;
  EXPECT_EQ(::recv(exits.socket(), &none, 1, 0), 0);
  EXPECT_EQ(::recv(dies.socket(), &none, 1, 0), 0);
  for (const Subprocess* ending : {&exits, &dies}) {  // the socket is closed before the process has ended
    siginfo_t told;
    ASSERT_EQ(::waitid(P_PID, id_t(ending->pid()), &told, WEXITED | WNOWAIT), 0);
  }
  EXPECT_EQ(exits.end(), "ended with code 7");
  EXPECT_EQ(dies.end(), "was killed by signal 9 (Killed)");
  const pid_t pid = stays.pid();
  ::kill(pid, SIGSTOP);
  EXPECT_EQ(stays.end(), "");
  EXPECT_EQ(::kill(pid, 0), -1);
}

// What a shell script prints that is started so.
std::string said(const std::string& script, ChildProgram program = {}) {
  int pipe[2];
  EXPECT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const Fd reading(pipe[0]);
  {
    const Fd writing(pipe[1]);
    program.argv = {"/bin/sh", "-c", script};
    program.output = writing.get();
    ChildProcess child = ChildProcess::start(program);
    EXPECT_EQ(child.wait(60), 0) << script;
  }
  std::string text(4096, '\0');
  text.resize(size_t(std::max<ssize_t>(0, ::read(reading.get(), text.data(), text.size()))));
  return text;
}

TEST(ChildProcess, HasItsDescriptorsAndNoOthers) {
  int pair[2], stray[2];
  ASSERT_EQ(::pipe(pair), 0);
  ASSERT_EQ(::pipe(stray), 0);  // open over exec
  const Fd read_end(pair[0]), write_end(pair[1]), stray_read(stray[0]), stray_write(stray[1]);
  // 3 and 4, in an order in which one could be closed for the other.
  ChildProgram program{.descriptors = {write_end.get(), read_end.get()}, .input = kNullDevice};
  EXPECT_EQ(said("echo through >&3; head -n 1 <&4; ls /proc/$$/fd; true", program),
            "through\n0\n1\n2\n3\n4\n");
  EXPECT_EQ(said("read -r line <&0 || echo nothing", program), "nothing\n");
  program.descriptors = {4711};
  EXPECT_THROW(said("true", program), WorldError);
}

TEST(ChildProcess, RunsWhereAndAsItWasAskedTo) {
  EXPECT_EQ(said("echo $A$HOME", {.environment = {{"A=1", "B=2"}}}), "1\n");
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  EXPECT_EQ(said("echo $HOME"), home + "\n");
  const int core = allowed_cores().back();
  EXPECT_EQ(said("grep Cpus_allowed_list /proc/self/status | cut -f 2", {.cores = {core}}),
            std::to_string(core) + "\n");
  EXPECT_EQ(said("grep NoNewPrivs /proc/self/status | cut -f 2", {.no_new_privileges = true}), "1\n");
  const std::string group = "cut -d ' ' -f 5 /proc/$$/stat; echo $$";
  const std::string own = said(group, {.own_group = true}), ours = said(group);
  EXPECT_EQ(own.substr(0, own.find('\n')) + "\n", own.substr(own.find('\n') + 1));
  EXPECT_EQ(ours.substr(0, ours.find('\n')), std::to_string(::getpgrp()));
  EXPECT_EQ(said("kill -INT $$; echo lives", {.ignores_interrupt = true}), "lives\n");
}

TEST(ChildProcess, IsWaitedForAndToldAndKilled) {
  ChildProcess child = ChildProcess::start({.argv = {"/bin/sleep", "60"}});
  EXPECT_TRUE(child.running());
  EXPECT_EQ(child.wait(0.01), std::nullopt);
  child.signal(SIGTERM);
  const auto status = child.wait(60);
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(WIFSIGNALED(*status) && WTERMSIG(*status) == SIGTERM);
  EXPECT_FALSE(child.running());
  child = ChildProcess::start({.argv = {"/bin/sleep", "60"}});
  const pid_t pid = child.pid();
  child.kill();
  EXPECT_EQ(::kill(pid, 0), -1);
}

// Whose parent ignores the ends of children: the kernel reaps them.
TEST(ChildProcess, OneThatSomebodyElseReapedDidNotSucceed) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  ChildProcess child = ChildProcess::start({.argv = {"/bin/true"}});
  const auto status = child.wait(60);
  ::signal(SIGCHLD, before);
  ASSERT_TRUE(status.has_value());
  EXPECT_NE(*status, 0);
}

TEST(ChildProcess, SaysWhatACommandPrints) {
  const CommandOutput good = output_of("echo out; echo err >&2; cat"), bad = output_of("printf x; exit 3");
  EXPECT_EQ(good.text, "out\n");
  EXPECT_EQ(good.errors, "err\n");
  EXPECT_TRUE(good.ok);
  EXPECT_EQ(bad.text, "x");
  EXPECT_FALSE(bad.ok);
  EXPECT_EQ(output_of("head -c 200000 /dev/zero").text.size(), 200'000u);
}

}  // namespace
}  // namespace temper
