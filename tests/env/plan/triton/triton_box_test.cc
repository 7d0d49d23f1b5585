#include "env/plan/triton/box.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "base/machine/child_process.h"
#include "tests/env/triton_boxes.h"

namespace temper::env {
namespace {

using testing::HasSubstr;

TritonReply plan_in(TritonBox& box, const std::string& source) {
  const Task task = triton_scale_task();
  return box.plan(task, source, all_shapes(task), {});
}

// "FAIL_PLAN timeout", or "ok".
std::string words_of(const TritonReply& reply) {
  return reply.failure ? fmt::format("{} {}", to_string(reply.failure->kind), reply.failure->reason) : "ok";
}

// The good candidate with `lines` in front of its first line, where `os` and `sys` are at hand.
std::string with_import(const std::string& lines) {
  return "import torch\nos, sys = torch.os, torch.sys\n" + lines + "\n" + kTritonScale;
}

// With `lines` as the first of launch.
std::string with_call(const std::string& lines) {
  std::string source = with_import("");
  const std::string begin = "def launch(x, n):\n";
  return source.insert(source.find(begin) + begin.size(), lines + "\n");
}

TEST(TritonBox, PlansACandidate) {
  SKIP_WITHOUT_TRITON();
  const TritonReply reply = plan_in(triton_box(), kTritonScale);
  ASSERT_FALSE(reply.failure) << reply.failure->detail << reply.failure->details;
  ASSERT_EQ(reply.plans.size(), 2u);
  EXPECT_GE(reply.cubins.size(), 1u);
  const auto& small = std::get<KernelLaunch>(reply.plans[0].steps.at(0));
  const auto& timed = std::get<KernelLaunch>(reply.plans[1].steps.at(0));
  EXPECT_EQ(small.grid.x, 1u);
  EXPECT_EQ(timed.grid.x, 16u);
  EXPECT_EQ(timed.relocations.at(0).pointer, (DevicePointer{Space::kInput, 0, 0}));
  EXPECT_EQ(timed.relocations.at(1).pointer, (DevicePointer{Space::kOutput, 0, 0}));
  EXPECT_GT(reply.compile_ms, 0);
}

TEST(TritonBox, GivesEachCandidateItsVerdictAndGoesOn) {
  SKIP_WITHOUT_TRITON();
  TritonBox& box = triton_box();
  box.wait_ready();
  const pid_t pid = box.pid();
  const std::string forged =
      nlohmann::json{{"status", "ok"}, {"cubins", 0}, {"plans", nlohmann::json::array()}}.dump();
  const auto forging = [](const std::string& json) {
    return with_call("    text = b'''" + json +
                     "'''\n"
                     "    for fd in range(3, 64):\n"
                     "        try: os.write(fd, len(text).to_bytes(4, 'little') + text)\n"
                     "        except OSError: pass\n"
                     "    os._exit(0)\n");
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "FAIL_PARSE no_entry_point"},
      {"def launch(x, n:", "FAIL_PARSE syntax"},
      {with_call("    os._exit(0)"), "FAIL_PLAN died"},
      {with_import("os._exit(3)"), "FAIL_PLAN died"},
      {with_call("    os.kill(os.getpid(), 9)"), "FAIL_PLAN exception"},
      {with_call("    os.kill(-1, 9)"), "FAIL_PLAN exception"},
      {with_call("    os.kill(1, 9)"), "FAIL_PLAN exception"},
      {with_call("    __import__('ctypes').string_at(0)"), "FAIL_PLAN died"},
      {with_call("    os.abort()"), "FAIL_PLAN died"},
      {with_call("    open(torch.__file__, 'a')"), "FAIL_PLAN exception"},
      {with_call("    open('/probe', 'w')"), "FAIL_PLAN exception"},
      {with_call("    open('/temper/zygote.py', 'a')"), "FAIL_PLAN exception"},
      {with_call("    __import__('socket').socket()"), "FAIL_PLAN exception"},
      {with_call("    open('/proc/1/environ')"), "FAIL_PLAN exception"},
      {with_call("    open('/etc/passwd')"), "FAIL_PLAN exception"},
      {with_call("    bytearray(64 << 30)"), "FAIL_PLAN exception"},
      {with_call("    os.unshare(0) if hasattr(os, 'unshare') else os.setuid(0)"), "FAIL_PLAN exception"},
      {with_call("    for _ in range(200000): print('x' * 100)"), "ok"},
      // Each of its processes writes a reply, so it depends on which is the first what is said.
      {with_call("    for _ in range(1000): os.fork()"), "FAIL_PLAN"},
      {forging(forged), "FAIL_PLAN malformed"},
      {forging(R"({"status": "infra", "error": "not me"})"), "FAIL_PLAN malformed"},
      {forging(R"({"status": "ok", "cubins": 7})"), "FAIL_PLAN malformed"},
      {forging(R"({"status": "failed", "kind": "INFRA", "reason": "a", "message": "", "details": ""})"),
       "FAIL_PLAN malformed"},
  };
  for (const auto& [source, expected] : cases) {
    const TritonReply reply = plan_in(box, source);
    EXPECT_THAT(words_of(reply), testing::StartsWith(expected))
        << source << (reply.failure ? reply.failure->detail : "");
  }
  EXPECT_EQ(words_of(plan_in(box, kTritonScale)), "ok");
  EXPECT_EQ(box.pid(), pid) << "the box did not outlive its candidates";
}

// What a candidate wrote or remembered is not there for the next one.
TEST(TritonBox, CandidatesDoNotMeet) {
  SKIP_WITHOUT_TRITON();
  TritonBox& box = triton_box();
  EXPECT_EQ(
      words_of(plan_in(box, with_call("    torch.left_behind = 1\n    open('left_behind', 'w').write('x')"))),
      "ok");
  EXPECT_EQ(words_of(plan_in(box, with_call("    assert not hasattr(torch, 'left_behind') and not "
                                            "os.path.exists('left_behind')"))),
            "ok");
}

TEST(TritonBox, EndsWhatTakesTooLong) {
  SKIP_WITHOUT_TRITON();
  TritonBoxOptions options = *triton_options();
  options.wall = std::chrono::seconds(2);
  TritonBox box(options);
  for (const std::string& source : {with_call("    while True: pass"), with_import("while True: pass"),
                                    with_call("    __import__('time').sleep(1000)")})
    EXPECT_EQ(words_of(plan_in(box, source)), "FAIL_PLAN timeout") << source;
}

TEST(TritonBox, IsStartedAgainWhereItEnded) {
  SKIP_WITHOUT_TRITON();
  TritonBox box(*triton_options());
  box.wait_ready();
  ASSERT_EQ(::kill(box.pid(), SIGKILL), 0);
  EXPECT_THROW(plan_in(box, kTritonScale), WorldError);
  EXPECT_EQ(words_of(plan_in(box, kTritonScale)), "ok");
}

// A folder of packages that the program's own torch lies in serves a Python that has none.
TEST(TritonBox, TakesWheelsForAPythonWithoutTorch) {
  SKIP_WITHOUT_TRITON();
  TritonBoxOptions options = *triton_options();
  const auto told = [&](const std::string& expression) {
    std::string text = output_of(shell_word(options.python.program) + " -E -s -c " +
                                 shell_word("import importlib.util, os, sys; print(" + expression + ")"))
                           .text;
    text.resize(text.find_last_not_of('\n') + 1);
    return text;
  };
  const std::string bare = told("os.path.realpath(sys.executable)");
  const std::string wheels =
      told("os.path.dirname(os.path.dirname(importlib.util.find_spec('torch').origin))");
  try {
    find_triton_python(bare, {});
    GTEST_SKIP() << bare << " has a torch of its own";
  } catch (const WorldError& e) {
    EXPECT_THAT(e.what(), HasSubstr(bare + " has no torch"));
  }
  options.python = find_triton_python(bare, {"/usr/share", wheels});
  EXPECT_EQ(options.python.wheels, wheels);
  TritonBox box(options);
  EXPECT_EQ(words_of(plan_in(box, kTritonScale)), "ok");
}

TEST(TritonBox, SaysWhatIsMissing) {
  try {
    find_triton_python("/bin/false");
    FAIL();
  } catch (const WorldError& e) {
    EXPECT_THAT(e.what(), HasSubstr("'/bin/false' is no Python that answers"));
    EXPECT_THAT(e.what(), HasSubstr("pip install torch"));
  }
}

}  // namespace
}  // namespace temper::env
