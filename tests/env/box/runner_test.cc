#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "env/box/wire.h"
#include "env/call/case.h"
#include "tests/env/boxes.h"

namespace temper::env {
namespace {

std::string kernel(const std::string& body, const std::string& before = "") {
  return before + "\nextern \"C\" void kernel(const float* x, float* y, int n) {\n" + body + "\n}\n";
}

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST(Runner, CallsTheCandidateOnSharedMemory) {
  const auto compiled =
      compile_here(kernel("for (int i = 0; i < n; ++i) y[i] = std::exp(x[i]);", "#include <cmath>"));
  ASSERT_TRUE(compiled.ok) << compiled.diagnostics;
  RunnerProcess runner(test_runner_options());
  runner.wait_ready();
  const std::vector<CallTime> empty = runner.null_calls();
  EXPECT_LT(std::ranges::min_element(empty, {}, &CallTime::cpu)->cpu, std::chrono::milliseconds(5));
  std::string detail;
  ASSERT_EQ(runner.load(compiled.object, kPatience_ms, detail), "") << detail;
  auto* x = reinterpret_cast<float*>(runner.arena() + 4096);
  auto* y = reinterpret_cast<float*>(runner.arena() + 8192);
  for (int call = 0; call < 50; ++call) {
    x[2] = float(call) / 50;
    ASSERT_EQ(runner.call({{4096, 8192}, {3}}), "");
    EXPECT_FLOAT_EQ(y[2], std::exp(x[2]));
  }
}

TEST(Runner, GapsAreOutOfReachWhileACallHasThem) {
  const auto compiled = compile_here(kernel("y[0] = x[n];"));
  ASSERT_TRUE(compiled.ok) << compiled.diagnostics;
  const std::vector<int64_t> gaps{1 << 20, 1 << 21};
  for (const int64_t at : {gaps[0] - 4, gaps[0], gaps[1] + kGapBytes - 4, gaps[1] + kGapBytes}) {
    RunnerProcess runner(test_runner_options());
    runner.wait_ready();
    std::string detail;
    ASSERT_EQ(runner.load(compiled.object, kPatience_ms, detail), "") << detail;
    const auto call = [&](const std::vector<int64_t>& beside) {
      return runner.call({{4096, 8192}, {(at - 4096) / 4}, beside});
    };
    EXPECT_EQ(call({}), "");
    const bool inside = at == gaps[0] || at == gaps[1] + kGapBytes - 4;
    EXPECT_EQ(call(gaps), inside ? "signal_11" : "") << at;
    if (!inside) {
      EXPECT_EQ(runner.call({{4096, 8192}, {(gaps[0] - 4096) / 4}}), "");  // and no longer
    }
  }
}

TEST(Runner, GivesWhatHonestCandidatesUse) {
  EXPECT_EQ(run_here(kernel("_Pragma(\"omp parallel for\") for (int i = 0; i < n; ++i) y[i] = x[i];")), "");
  EXPECT_EQ(run_here(kernel(
                "std::vector<float> copy(x, x + n); std::sort(copy.begin(), copy.end()); y[0] = copy[0];",
                "#include <algorithm>\n#include <vector>")),
            "");
  EXPECT_EQ(run_here(kernel("try { throw 1; } catch (int) { y[0] = 1; }")), "");
  EXPECT_EQ(run_here(kernel(
                "static std::vector<float> kept(16); std::cout << kept[0] << std::endl; y[0] = kept[1];",
                "#include <iostream>\n#include <vector>")),
            "");
  EXPECT_EQ(run_here(kernel("__int128 a = n; a = a * a / (n + 1); y[0] = (float)a;")), "");
}

TEST(Runner, NamesHowACandidateEnds) {
  EXPECT_EQ(run_here(kernel("*(volatile int*)0 = 1;")), "signal_11");
  EXPECT_EQ(run_here(kernel("volatile int zero = 0; y[0] = n / zero;")), "signal_8");
  EXPECT_EQ(run_here(kernel("__builtin_trap();")), "signal_4");
  EXPECT_EQ(run_here(kernel("abort();", "#include <cstdlib>")), "signal_6");
  EXPECT_EQ(run_here(kernel("throw 1;")), "signal_6");
  EXPECT_EQ(run_here(kernel("_Exit(0);", "#include <cstdlib>")), "exit");
  EXPECT_EQ(run_here(kernel("", "#include <cstdlib>\nstruct Early { Early() { _Exit(0); } } early;")),
            "exit");
  EXPECT_EQ(run_here(kernel("y[0] = missing(x[0]);", "extern \"C\" float missing(float);")), "load_error");
  EXPECT_EQ(run_here(kernel(
                "volatile char deep[1 << 20]; deep[0] = 1; kernel(x, y, n + deep[0]); y[0] = deep[1];")),
            "signal_11");
}

TEST(Runner, EndsWhatDoesNotEnd) {
  for (const char* body :
       {"for (;;) {}", "for (;;) pause();", "signal(15, SIG_IGN); signal(2, SIG_IGN); for (;;) {}"}) {
    const double start = now_s();
    EXPECT_EQ(
        run_here(kernel(body, "#include <unistd.h>\n#include <signal.h>"), std::chrono::milliseconds(300)),
        "timeout");
    EXPECT_LT(now_s() - start, kPatience_s);
  }
  EXPECT_EQ(
      run_here(kernel("", "struct Slow { Slow() { for (;;) {} } } slow;"), std::chrono::milliseconds(300)),
      "timeout");
  EXPECT_EQ(run_here(kernel("usleep(200000);", "#include <unistd.h>"), std::chrono::milliseconds(500)),
            "timeout")
      << "the budget is for all calls together";
}

TEST(Runner, ForbidsProcesses) {
  for (const char* body :
       {"fork();", "vfork();", "std::thread([] {}).detach();", "execl(\"/bin/sh\", \"sh\", (char*)0);",
        "ptrace(PTRACE_TRACEME, 0, 0, 0);", "unshare(CLONE_NEWUSER);", "syscall(SYS_io_uring_setup, 1, 0);",
        "syscall(SYS_bpf, 0, 0, 0);"})
    EXPECT_EQ(run_here(kernel(
                  body,
                  "#include <thread>\n#include <unistd.h>\n#include <sched.h>\n#include <sys/ptrace.h>\n"
                  "#include <sys/syscall.h>")),
              "forbidden_call")
        << body;
}

// Each returns an error, and the candidate goes on: traps unless the call fails.
TEST(Runner, DeniesTheMachine) {
  const std::string headers =
      "#include <unistd.h>\n#include <fcntl.h>\n#include <signal.h>\n#include <sys/socket.h>\n#include "
      "<sys/mman.h>\n"
      "#include <sys/stat.h>\n#include <sys/resource.h>\n#include <sys/prctl.h>\n#include <sched.h>\n";
  for (const char* call :
       {"socket(AF_INET, SOCK_STREAM, 0)", "socket(AF_UNIX, SOCK_STREAM, 0)",
        "open(\"/etc/passwd\", O_RDONLY)", "open(\"/proc/self/mem\", O_RDWR)",
        "open(\"/memo\", O_CREAT | O_RDWR, 0600)", "open(\"/usr/bin/env\", O_RDONLY)",
        "open(\"/candidate.so\", O_RDWR)", "mkdir(\"/d\", 0700)", "unlink(\"/candidate.so\")",
        "memfd_create(\"m\", 0)", "kill(-1, 9)", "kill(getppid(), 9)", "setpriority(PRIO_PROCESS, 0, -5)",
        "chroot(\"/\")", "prctl(PR_SET_DUMPABLE, 1)", "shm_open(\"/m\", O_CREAT | O_RDWR, 0600)", "dup(0)",
        "write(4, \"x\", 1)", "write(5, \"x\", 1)"})
    EXPECT_EQ(run_here(kernel(std::string("if (") + call + " >= 0) __builtin_trap();", headers)), "") << call;
  EXPECT_EQ(run_here(kernel("cpu_set_t all; memset(&all, 255, sizeof all);"
                            "if (sched_setaffinity(0, sizeof all, &all) == 0) __builtin_trap();",
                            headers + "#include <string.h>\n")),
            "");
}

TEST(Runner, HoldsItsQuotas) {
  EXPECT_EQ(run_here(kernel("if (mmap(0, 1ul << 40, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)"
                            " __builtin_trap();",
                            "#include <sys/mman.h>")),
            "");
  EXPECT_EQ(run_here(kernel("for (;;) { volatile char* p = (char*)malloc(1 << 20); for (int i = 0; i < 1 << "
                            "20; i += 4096) p[i] = 1; }",
                            "#include <cstdlib>")),
            "signal_11");
  EXPECT_EQ(
      run_here(kernel("char line[4096] = {}; for (int i = 0; i < 100000; ++i) write(1, line, sizeof line);",
                      "#include <unistd.h>")),
      "")
      << "a flood of output goes nowhere";
}

TEST(Runner, BelievesNoForgedAnswer) {
  // Floods the descriptors it finds with garbage before it is asked anything, then ends.
  EXPECT_EQ(
      run_here(kernel(
          "",
          "#include <unistd.h>\n#include <cstdlib>\nstruct Early { Early() {"
          "  char frame[280] = {'T', 'P'}; for (int fd = 0; fd < 32; ++fd) write(fd, frame, sizeof frame);"
          "  _Exit(0); } } early;")),
      "exit");
  EXPECT_EQ(run_here(kernel("",
                            "#include <unistd.h>\nstruct Early { Early() {"
                            "  char frame[99] = {}; write(3, frame, sizeof frame); for (;;) {} } } early;")),
            "protocol");
}

TEST(Runner, IsFrozenBetweenCalls) {
  // Finds the control page, answers the call by itself, then goes on working: nothing of that may come to
  // pass once the broker has the core.
  const auto compiled =
      compile_here(kernel("unsigned* page = (unsigned*)((char*)x - (64ul << 20));\n"
                          "for (;; page += 1024) if (syscall(SYS_rt_sigprocmask, 2, page, 0, 8) == 0 && "
                          "page[0] == 1 && page[1] == 0 &&\n"
                          "                          page[3] == 2 && page[4] == 1) break;\n"
                          "page[1] = page[0]; syscall(SYS_futex, page + 1, FUTEX_WAKE, 1, 0, 0, 0);\n"
                          "for (volatile float* out = y;;) out[1] = out[1] + 1;",
                          "#include <unistd.h>\n#include <sys/syscall.h>\n#include <linux/futex.h>"));
  ASSERT_TRUE(compiled.ok) << compiled.diagnostics;
  RunnerProcess runner(test_runner_options());
  runner.wait_ready();
  std::string detail;
  ASSERT_EQ(runner.load(compiled.object, kPatience_ms, detail), "");
  ASSERT_EQ(runner.call({{4096, 8192}, {3}}), "");
  const auto* counter = reinterpret_cast<volatile float*>(runner.arena() + 8192 + 4);
  ::usleep(20'000);
  const float before = *counter;
  ::usleep(50'000);
  EXPECT_EQ(*counter, before);
}

TEST(Runner, LeavesNothingBehind) {
  const std::string source = kernel("y[0] = x[0];");
  ASSERT_EQ(run_here(source), "");
  const int before = open_descriptors();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(run_here(source), "");
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Wire, RefusesWhatIsNotAMessage) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
  const Fd ours(pair[0]), theirs(pair[1]);
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string garbage(random() % 2 ? sizeof(RunnerReply) : random() % 600, '\0');
    for (char& byte : garbage) byte = char(random());
    ASSERT_EQ(::send(theirs.get(), garbage.data(), garbage.size(), 0), ssize_t(garbage.size()));
    EXPECT_FALSE(receive_wire<RunnerReply>(ours.get(), 1, std::chrono::milliseconds(0)));
  }
  ASSERT_TRUE(send_wire(theirs.get(), RunnerReply{}, 2));
  EXPECT_FALSE(receive_wire<RunnerReply>(ours.get(), 1, std::chrono::milliseconds(100)))
      << "of another request";
  ASSERT_TRUE(send_wire(theirs.get(), RunnerReply{}, 1));
  EXPECT_TRUE(receive_wire<RunnerReply>(ours.get(), 1, std::chrono::milliseconds(100)));
}

}  // namespace
}  // namespace temper::env
