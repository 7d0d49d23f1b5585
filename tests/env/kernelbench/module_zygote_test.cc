#include "env/kernelbench/module_zygote.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>

#include "env/kernelbench/turns/clock_page.h"
#include "tests/env/module_boxes.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

// One of its own, and what processes that it forks are given.
struct Zygote {
  ModuleProcess fork() {
    return zygote.fork({.exchange = exchange.get(), .clock = clock.file(), .user = module_options()->user});
  }
  ModuleZygote zygote{*module_options()};
  Fd exchange{::memfd_create("exchange", MFD_CLOEXEC)};
  ClockPage clock;
};

TEST(ModuleZygote, ForksProcessesThatEndAlone) {
  SKIP_WITHOUT_MODULES();
  Zygote zygote;
  ModuleProcess first = zygote.fork(), second = zygote.fork();
  EXPECT_EQ(first.wait_ready().value("status", ""), "ready");
  EXPECT_EQ(second.wait_ready().value("status", ""), "ready");
  EXPECT_NE(first.pid(), second.pid());
  first.kill();
  EXPECT_FALSE(first.running());
  EXPECT_FALSE(second.heard());
  ASSERT_EQ(::kill(second.pid(), SIGKILL), 0);
  EXPECT_EQ(second.receive(kPatience_ms).end, "signal_9");
  EXPECT_EQ(zygote.fork().wait_ready().value("status", ""), "ready");
}

// Nobody knows how they would have ended, and no candidate is to blame.
TEST(ModuleZygote, EndsWithAllThatItHasForked) {
  SKIP_WITHOUT_MODULES();
  Zygote zygote;
  ModuleProcess heard = zygote.fork(), asked = zygote.fork();
  heard.wait_ready();
  asked.wait_ready();
  ASSERT_EQ(::kill(zygote.zygote.pid(), SIGKILL), 0);
  EXPECT_THROW(heard.receive(kPatience_ms), WorldError);
  EXPECT_FALSE(heard.running());
  EXPECT_THROW(asked.ask({{"op", "profile"}}, kPatience_ms), WorldError);
  EXPECT_THROW(zygote.fork(), WorldError);
}

// The baseline's process and others that are warm have been forked from the same one.
TEST(ModuleZygote, ForksProcessesThatSeeNobodyElse) {
  SKIP_WITHOUT_MODULES();
  const std::string look = R"(
import ctypes, errno, stat
library = ctypes.CDLL(None, use_errno=True)
found, processes = {}, [one for one in os.listdir('/proc') if one.isdigit()]
for one in range(1024):
    try: found[one] = os.fstat(one)
    except OSError: pass
assert [one for one in found if stat.S_ISSOCK(found[one].st_mode)] == [3], found
exchange_and_clock = {found[4].st_ino, found[5].st_ino}
assert all(found[one].st_ino in exchange_and_clock for one in found if one > 3), found
assert processes == ['1'], processes
with open('/proc/self/status') as status:
    assert [line.split()[1:] for line in status if line.startswith('NSpid')] == [['1']]
TGKILL, PTRACE_ATTACH = 234, 16
for one in range(2, 300):
    assert library.syscall(TGKILL, one, one, 0) == -1 and ctypes.get_errno() == errno.ESRCH, one
    assert library.ptrace(PTRACE_ATTACH, one, 0, 0) == -1, one
)";
  const Verdict verdict = judge_module(module_candidate(kModuleRight, look));
  EXPECT_EQ(verdict.kind, VerdictKind::kPass) << verdict.message;
}

}  // namespace
}  // namespace temper::env
