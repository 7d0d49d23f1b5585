// The GPU half of the judge over a driver that computes on the CPU: all of ours but the kernels of
// candidates, which it knows by name, and but time.

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "env/judge.h"
#include "tests/env/gpu/hand_made.h"

namespace temper {
namespace {

constexpr const char* kTasks = R"yaml(
defaults: {language: cuda, max_speedup: 1e9}
tasks:
  - {name: add, reference: 2 * x + z, inputs: {x: [n], z: [n]}, outputs: {y: [n]}, magnitudes: [1, 100],
     check: [{n: 1000}, {n: 1}, {n: 2001}], timed: {n: 30001}}
  - {name: product, reference: a @ b, inputs: {a: [n, k], b: [k, m]}, outputs: {c: [n, m]}, dims: [n, m, k],
     check: [{n: 17, m: 33, k: 65}], timed: {n: 40, m: 40, k: 40}}
  - {name: product_bf16, reference: a @ b, inputs: {a: {shape: [n, k], type: bf16}, b: {shape: [k, m], type: bf16}},
     outputs: {c: {shape: [n, m], type: bf16}}, dims: [n, m, k], check: [{n: 17, m: 33, k: 65}],
     timed: {n: 40, m: 40, k: 40}}
  - {name: gather, reference: "x[i]", inputs: {x: [n, m], i: {shape: [k], type: i32, below: n}}, outputs: {y: [k, m]},
     dims: [k, n, m], check: [{k: 7, n: 5, m: 33}], timed: {k: 100, n: 30, m: 20}}
  - {name: gelu_f16, reference: "torch.nn.functional.gelu(x)", inputs: {x: {shape: [n], type: f16}},
     outputs: {y: {shape: [n], type: f16}}, check: [{n: 1001}], timed: {n: 5001}}
  - {name: relu_nonfinite, reference: "torch.relu(x)", inputs: {x: {shape: [n], nonfinite: true}}, outputs: {y: [n]},
     check: [{n: 1001}], timed: {n: 5001}}
)yaml";

void use_fake_driver() { ::setenv("LD_LIBRARY_PATH", executable_dir().c_str(), 1); }

class FakeGpu : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    use_fake_driver();
    machine =
        new GpuMachine(parse_tasks(kTasks, "fake_gpu_test.cc"), "a cubin that this driver does not read");
  }
  static void TearDownTestSuite() { delete std::exchange(machine, nullptr); }

  // A CPU that plays a GPU takes its time, and more where others compute, too.
  static Verdict judge(const std::string& task, const Way& way,
                       GpuProcedureOptions options = {
                           .run_budget = std::chrono::seconds(60), .min_pairs = 5, .max_pairs = 7}) {
    return machine->judge(task, way, options);
  }
  static void expect(VerdictKind kind, const std::string& reason, const std::string& task, const Way& way) {
    const Verdict verdict = judge(task, way);
    EXPECT_STREQ(to_string(verdict.kind), to_string(kind)) << way.kernels[0] << ": " << verdict.message;
    EXPECT_EQ(verdict.reason, reason) << way.kernels[0] << ": " << verdict.message;
  }
  // Its times are those of a CPU that plays a GPU: whether it passes must not hang on them.
  static void expect_right(const std::string& task, const Way& way) {
    const Verdict verdict = judge(task, way);
    EXPECT_TRUE(verdict.pass() || verdict.reason == "clock") << way.kernels[0] << ": " << verdict.message;
    EXPECT_GT(verdict.speedup, 0) << way.kernels[0];
    EXPECT_GE(verdict.pairs, 5) << way.kernels[0];
  }

  static GpuMachine* machine;
};
GpuMachine* FakeGpu::machine = nullptr;

TEST_F(FakeGpu, RightWorkOfEachTypePasses) {
  expect_right("add", {{"good"}});
  expect_right("add", {{"through_workspace", "from_workspace"}, "flat", true});
  expect_right("add", {{"only_when_poisoned"}});
  expect_right("product", {{"product"}, "tiles"});
  expect_right("product_bf16", {{"product_bf16"}, "tiles"});
  expect_right("gather", {{"gather"}, "rows"});
  expect_right("gelu_f16", {{"half_gelu"}});
  expect_right("relu_nonfinite", {{"nan_where_nan"}});
}

TEST_F(FakeGpu, WrongWorkFails) {
  const auto wrong = [](const std::string& task, const Way& way, const char* reason = "tolerance") {
    expect(VerdictKind::kFailIncorrect, reason, task, way);
  };
  wrong("add", {{"nothing"}}, "unwritten");
  wrong("add", {{"zeros"}});
  wrong("add", {{"input_copied"}});
  wrong("add", {{"last_tile_missing"}}, "unwritten");
  wrong("add", {{"one_element_wrong"}});
  wrong("add", {{"answer_of_last_call"}, "flat", true}, "unwritten");  // the workspace is poisoned, too
  wrong("relu_nonfinite", {{"nan_lost"}});
}

TEST_F(FakeGpu, TheMessageSaysWhichElement) {
  const Verdict verdict = judge("add", {{"one_element_wrong"}});
  EXPECT_TRUE(verdict.message.starts_with("FAIL_INCORRECT y[999] is ")) << verdict.message;
  EXPECT_TRUE(verdict.message.ends_with("; 1 of 1000 wrong")) << verdict.message;
}

TEST_F(FakeGpu, WhoLeavesItsBuffersIsFound) {
  expect(VerdictKind::kFailRuntime, "guard", "add", {{"one_byte_past"}});
  expect(VerdictKind::kFailRuntime, "guard", "add", {{"row_past"}});
  expect(VerdictKind::kFailRuntime, "guard", "add", {{"before_the_output"}});
  expect(VerdictKind::kFailRuntime, "guard", "add", {{"past_workspace"}, "flat", true});
  expect(VerdictKind::kHack, "input_mutation", "add", {{"input_changed"}});
  expect(VerdictKind::kHack, "input_mutation", "add", {{"input_zeroed"}});
}

TEST_F(FakeGpu, WhoRefusesOrCrashesFailsAndTheNextIsJudged) {
  const std::vector<std::pair<Way, std::string>> failing{
      {{{"wild"}}, "illegal_address"},
      {{{"trapped"}}, "launch_failed"},
      {{{"good"}, "flat", false, 300 << 10}, "invalid_value"},
      {{{"no_such_kernel"}}, "not_found"}};
  for (const auto& [way, reason] : failing) {
    expect(VerdictKind::kFailRuntime, reason, "add", way);
    expect_right("add", {{"good"}});
  }
}

TEST_F(FakeGpu, PlansThatBreakTheirRulesGetNowhere) {
  expect(VerdictKind::kFailPlan, "plan", "add", {{"good"}, "flat", false, 0, 2048});
  expect(VerdictKind::kFailPlan, "plan", "add", {{"good"}, "no plan at all"});
}

TEST_F(FakeGpu, EndlessKernelsCostTheirBudgetAndNoMore) {
  GpuProcedureOptions options;
  options.run_budget = std::chrono::milliseconds(300);
  const double start = now_s();
  const Verdict verdict = judge("add", {{"endless"}}, options);
  EXPECT_EQ(verdict.kind, VerdictKind::kFailTimeout) << verdict.message;
  EXPECT_LT(now_s() - start, 3);
  expect_right("add", {{"good"}});
}

TEST_F(FakeGpu, RunnersRetireUnseen) {
  const pid_t first = machine->runners->runner().pid();
  machine->loud = false;
  for (int i = 0; i < 210; ++i) {
    const Verdict verdict = judge("add", {{i % 10 == 3 ? "zeros" : "nothing"}});
    ASSERT_EQ(verdict.reason, i % 10 == 3 ? "tolerance" : "unwritten") << i << ": " << verdict.message;
  }
  machine->loud = true;
  EXPECT_NE(machine->runners->runner().pid(), first);
}

TEST_F(FakeGpu, AKilledRunnerCostsItsCandidateAlone) {
  ::kill(machine->runners->runner().pid(), SIGKILL);
  expect(VerdictKind::kFailRuntime, "runner_died", "add", {{"good"}});
  expect_right("add", {{"good"}});
}

TEST_F(FakeGpu, ReferencesAreProvedAtTheStart) {
  const auto start = [](const std::string& reference) {
    const auto tasks =
        parse_tasks("{name: t, language: cuda, reference: '" + reference +
                        "', inputs: {x: [n], z: [n]}, outputs: {y: [n]}, check: [{n: 3}], timed: {n: 9}}",
                    "t");
    GpuOracleProcess((executable_dir() / "temper-gpu-oracle").string(), 0, tasks).wait_ready();
  };
  const auto words = [&](const std::string& reference) {
    try {
      start(reference);
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(words("x + z"), "");
  EXPECT_EQ(words("x * 2"), "task t, reference: input z has no influence on any output");
  EXPECT_EQ(words("(x + z).sum()"), "task t, reference: output y is []; the task says [9]");
  EXPECT_EQ(words("x.add_(z)"), "task t, reference: changes an input");
  EXPECT_NE(words("torch.sofmax(x + z)").find("task t, reference:"), std::string::npos);
}

// From source to verdict: nvcc, plan box and all, but for the kernels, which the driver knows by name.
class FakeGpuJudge : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_fake_driver(); }
  static std::string source_with(const std::string& kernel, const std::string& launcher_first = "") {
    return "extern \"C\" __global__ void " + kernel +
           "(const float* x, const float* z, float* y, int n) {\n"
           "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = "
           "x[i] + z[i];\n"
           "}\nextern \"C\" void launch(const float* x, const float* z, float* y, int n) {\n" +
           launcher_first + "  " + kernel + "<<<(n + 255) / 256, 256>>>(x, z, y, n);\n}\n";
  }
  static JudgeOptions options() {
    JudgeOptions options;
    options.lanes = 2;
    options.compile_timeout_s = 120;
    options.run_timeout_s = 60;
    options.max_pairs = 7;
    return options;
  }
};

TEST_F(FakeGpuJudge, VerdictsComeThroughBothStages) {
  Judge judge(options(), parse_tasks(kTasks, "fake_gpu_test.cc"));
  const std::vector<std::pair<std::string, std::string>> expected{
      {source_with("good"), "PASS"},
      {source_with("zeros"), "FAIL_INCORRECT tolerance"},
      {source_with("one_byte_past"), "FAIL_RUNTIME guard"},
      {source_with("wild"), "FAIL_RUNTIME illegal_address"},
      {source_with("input_zeroed"), "HACK input_mutation"},
      {source_with("good", "  if (x[0] > 1) n = 0;\n"), "FAIL_PLAN"},
      {source_with("good", "  nonsense;\n"), "FAIL_COMPILE compile_error"},
      {"int launches = 0;", "FAIL_PARSE no_entry_point"},
  };
  std::map<Ticket, size_t> tickets;
  for (int round = 0; round < 2; ++round)  // the second time each comes along with its double
    for (size_t i = 0; i < expected.size(); ++i) tickets[judge.submit("add", expected[i].first)] = i;
  while (judge.pending() > 0) {
    for (const auto& [ticket, verdict] : judge.poll(std::chrono::milliseconds(100))) {
      const auto& [source, words] = expected[tickets.at(ticket)];
      const std::string got =
          verdict.reason == "clock" ? "PASS" : fmt::format("{} {}", to_string(verdict.kind), verdict.reason);
      EXPECT_TRUE(got.starts_with(words)) << source << got << ": " << verdict.message;
    }
  }
  EXPECT_EQ(judge.stats().submitted, 16);
  EXPECT_GE(judge.stats().cached, 7);
  EXPECT_EQ(judge.stats().restarts, 0);
  EXPECT_EQ(judge.sandbox_level().substr(0, 2), "S2");
}

TEST_F(FakeGpuJudge, BothLanguagesLiveTogether) {
  auto tasks = parse_tasks(
      "{name: cpu_add, reference: 2 * x, inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 5}], "
      "timed: {n: 999}}",
      "t");
  for (auto& task : parse_tasks(kTasks, "fake_gpu_test.cc")) tasks.push_back(std::move(task));
  JudgeOptions one = options();
  one.lanes = 1;
  Judge judge(one, tasks);
  const Verdict gpu = judge.judge("add", source_with("zeros"));
  EXPECT_EQ(gpu.reason, "tolerance") << gpu.message;
  const Verdict cpu = judge.judge("cpu_add",
                                  "extern \"C\" void kernel(const float* x, float* y, int n) { for (int i = "
                                  "0; i < n; ++i) y[i] = 2 * x[i]; }");
  EXPECT_GT(cpu.candidate_us, 0) << cpu.message;
}

// … and is not the candidate's fault.
TEST_F(FakeGpuJudge, ATooSmallGpuIsSaid) {
  const auto tasks = parse_tasks(
      "{name: large, language: cuda, reference: 2 * x + z, inputs: {x: [n], z: [n]}, outputs: {y: [n]}, "
      "check: [{n: 5}], timed: {n: 8000000}}",
      "t");
  Judge judge(options(), tasks);
  const Verdict verdict = judge.judge("large", source_with("good"));
  EXPECT_TRUE(verdict.infra()) << verdict.message;
  EXPECT_NE(verdict.message.find("cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos)
      << verdict.message;
}

}  // namespace
}  // namespace temper
