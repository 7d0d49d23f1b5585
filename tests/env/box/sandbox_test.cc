#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>

#include "base/error.h"
#include "env/box/lockdown.h"
#include "env/box/namespaces.h"
#include "env/box/private_root.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

int exit_code(const std::function<int()>& body) {
  auto box = BoxProcess::start(body);
  const auto status = box.wait(kPatience_ms);
  return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
}

TEST(Sandbox, IsInitOfItsOwnNamespace) {
  EXPECT_EQ(exit_code([] { return int(::getpid()); }), 1);
}

TEST(Sandbox, RootHoldsOnlyWhatWasAsked) {
  EXPECT_EQ(exit_code([] {
              enter_private_root(1 << 20, {"/usr"});
              int entries = 0;
              for (const auto& entry : std::filesystem::directory_iterator("/"))
                entries += entry.path() == "/usr" ? 1 : 100;
              return entries + (std::filesystem::exists("/usr/bin/env") ? 10 : 0);
            }),
            11);
  EXPECT_EQ(exit_code([] {
              enter_private_root(1 << 20, {"/usr"});
              return ::creat("/usr/temper_probe", 0600) < 0 && errno == EROFS ? 0 : 1;
            }),
            0);
}

// Also of a folder on which a private root would be mounted else.
TEST(Sandbox, RootHoldsSingleFilesAndDevices) {
  char name[] = "/tmp/temper_probe_XXXXXX";
  const Fd file(::mkstemp(name));
  ASSERT_EQ(::write(file.get(), "a", 1), 1);
  EXPECT_EQ(exit_code([&] {
              enter_private_root(1 << 20, {name, "/dev/null"});
              const Fd reading(::open(name, O_RDONLY)), null(::open("/dev/null", O_WRONLY));
              char byte = 0;
              if (::read(reading.get(), &byte, 1) != 1 || byte != 'a') return 1;
              if (::write(null.get(), "b", 1) != 1) return 2;
              return ::open(name, O_WRONLY) < 0 && errno == EROFS ? 0 : 3;
            }),
            0);
  ::unlink(name);
}

TEST(Sandbox, EveryDoorIsShut) {
  EXPECT_EQ(first_call_not_killed(), "");
  EXPECT_NE(first_open_door(), "") << "the probe must see the doors of a process that is not locked up";
  EXPECT_EQ(exit_code([] {
              enter_private_root(1 << 20, {});
              drop_privileges(64'900);
              allow_only_candidate_calls();
              return first_open_door().empty() ? 0 : 1;
            }),
            0);
}

TEST(Sandbox, KillingItKillsAllBelow) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  constexpr int kForks = 5;  // by each that is there
  auto box = BoxProcess::start([&] {
    for (int i = 0; i < kForks; ++i)
      if (::fork() == 0) ::signal(SIGTERM, SIG_IGN);
    (void)!::write(writing.get(), "x", 1);
    for (;;) ::pause();
    return 0;
  });
  writing = Fd();
  char byte;
  for (int i = 0; i < 1 << kForks; ++i) ASSERT_EQ(::read(reading.get(), &byte, 1), 1);
  box.kill();
  EXPECT_EQ(::read(reading.get(), &byte, 1), 0) << "some process still holds the pipe";
}

TEST(Sandbox, DescribesEnds) {
  EXPECT_EQ(describe_wait_status(SIGSEGV), "signal_11");
  EXPECT_EQ(describe_wait_status(SIGSYS), "forbidden_call");
  EXPECT_EQ(describe_wait_status(3 << 8), "exit_3");
}

}  // namespace
}  // namespace temper::env
