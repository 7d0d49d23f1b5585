// The GPU half of the judge, from a cubin and plans made by hand to the verdict.

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/env/gpu/hand_made.h"

namespace temper {
namespace {

constexpr const char* kTasks = R"yaml(
defaults: {language: cuda}
tasks:
  - {name: add, reference: 2 * x + z, inputs: {x: [n], z: [n]}, outputs: {y: [n]}, magnitudes: [1, 100],
     check: [{n: 1000}, {n: 1}, {n: 70001}], timed: {n: 8388609}}
  - {name: small_add, reference: 2 * x + z, inputs: {x: [n], z: [n]}, outputs: {y: [n]}, check: [{n: 1000}],
     timed: {n: 65537}}
  - {name: softmax, reference: "torch.softmax(x, 1)", inputs: {x: [n, m]}, outputs: {y: [n, m]}, magnitudes: [1, 60],
     tolerance: 1e-4, check: [{n: 5, m: 33}, {n: 3, m: 1001}], timed: {n: 2048, m: 2049}, dims: [n, m]}
  - {name: product, reference: a @ b, inputs: {a: [n, k], b: [k, m]}, outputs: {c: [n, m]}, dims: [n, m, k],
     check: [{n: 17, m: 33, k: 65}, {n: 3, m: 5, k: 2000}], timed: {n: 512, m: 512, k: 512}, flops: 2*n*m*k}
  - {name: product_bf16, reference: a @ b, inputs: {a: {shape: [n, k], type: bf16}, b: {shape: [k, m], type: bf16}},
     outputs: {c: {shape: [n, m], type: bf16}}, dims: [n, m, k], check: [{n: 17, m: 33, k: 65}, {n: 3, m: 5, k: 2000}],
     timed: {n: 512, m: 512, k: 512}, flops: 2*n*m*k}
  - {name: gather, reference: "x[i]", inputs: {x: [n, m], i: {shape: [k], type: i32, below: n}}, outputs: {y: [k, m]},
     dims: [k, n, m], check: [{k: 7, n: 5, m: 33}], timed: {k: 4096, n: 8192, m: 1000}, bytes: 8*k*m}
  - {name: gelu_f16, reference: "torch.nn.functional.gelu(x)", inputs: {x: {shape: [n], type: f16}},
     outputs: {y: {shape: [n], type: f16}}, check: [{n: 1001}], timed: {n: 16777217}}
  - {name: relu_nonfinite, reference: "torch.relu(x)", inputs: {x: {shape: [n], nonfinite: true}}, outputs: {y: [n]},
     check: [{n: 1001}], timed: {n: 4194305}}
)yaml";

class GpuJudge : public testing::Test {
 protected:
  // The processes of all tests; a machine without a GPU says so once.
  void SetUp() override {
    if (!machine && missing.empty()) {
      try {
        machine = new GpuMachine(parse_tasks(kTasks, "gpu_judge_gpu_test.cc"),
                                 read_file(executable_dir() / "tests/gpu_candidates.cubin"));
      } catch (const std::exception& e) {
        missing = e.what();
      }
    }
    if (!machine && missing.find("no NVIDIA driver") == std::string::npos &&
        missing.find("sees no GPU") == std::string::npos)
      FAIL() << missing;
    if (!machine) GTEST_SKIP() << missing;
  }

  static Verdict judge(const std::string& task, const Way& way, GpuProcedureOptions options = {}) {
    return machine->judge(task, way, options);
  }
  static void expect(VerdictKind kind, const std::string& reason, const std::string& task, const Way& way) {
    const Verdict verdict = judge(task, way);
    EXPECT_STREQ(to_string(verdict.kind), to_string(kind)) << way.kernels[0] << ": " << verdict.message;
    EXPECT_EQ(verdict.reason, reason) << way.kernels[0] << ": " << verdict.message;
  }
  static void expect_pass(const std::string& task, const Way& way) {
    expect(VerdictKind::kPass, "", task, way);
  }

  static GpuMachine* machine;
  static std::string missing;
};
GpuMachine* GpuJudge::machine = nullptr;
std::string GpuJudge::missing;

TEST_F(GpuJudge, HonestWorkPasses) {
  expect_pass("add", {{"good"}});
  expect_pass("add", {{"good"}, "flat", false, 0, 1024});
  expect_pass("add", {{"slow"}});
  expect_pass("add", {{"much_shared"}, "flat", false, 200 << 10});
  expect_pass("add", {{"through_workspace", "from_workspace"}, "flat", true});
  expect_pass("small_add", {{"good"}});
  expect_pass("softmax", {{"softmax"}, "rows"});
  expect_pass("product", {{"product"}, "tiles"});
  expect_pass("product_bf16", {{"product_bf16"}, "tiles"});
  expect_pass("gather", {{"gather"}, "rows"});
  expect_pass("gelu_f16", {{"half_gelu"}});
  expect_pass("relu_nonfinite", {{"nan_where_nan"}});
}

TEST_F(GpuJudge, WrongWorkFails) {
  const auto wrong = [](const std::string& task, const Way& way, const char* reason = "tolerance") {
    expect(VerdictKind::kFailIncorrect, reason, task, way);
  };
  wrong("add", {{"nothing"}}, "unwritten");
  wrong("add", {{"zeros"}});
  wrong("add", {{"input_copied"}});
  wrong("add", {{"last_tile_missing"}}, "unwritten");
  wrong("add", {{"one_element_wrong"}});
  wrong("add", {{"answer_of_last_call"}, "flat", true});
  wrong("softmax", {{"softmax_no_max"}, "rows"});
  wrong("product", {{"product_tf32"}, "tiles"});
  wrong("product_bf16", {{"product_bf16_short_sums"}, "tiles"});
  wrong("relu_nonfinite", {{"nan_lost"}});
}

TEST_F(GpuJudge, WhoLeavesItsBuffersIsFound) {
  expect(VerdictKind::kFailRuntime, "guard", "add", {{"one_byte_past"}});
  expect(VerdictKind::kFailRuntime, "guard", "add", {{"row_past"}});
  expect(VerdictKind::kFailRuntime, "guard", "add", {{"before_the_output"}});
  expect(VerdictKind::kFailRuntime, "guard", "add", {{"past_workspace"}, "flat", true});
  expect(VerdictKind::kHack, "input_mutation", "add", {{"input_changed"}});
  expect(VerdictKind::kHack, "input_mutation", "add", {{"input_zeroed"}});
}

TEST_F(GpuJudge, WhoRefusesOrCrashesFailsAndTheNextIsJudged) {
  const std::vector<std::pair<Way, std::string>> crashing{
      {{{"wild"}}, "illegal_address"},
      {{{"null_read"}}, "illegal_address"},
      {{{"misaligned"}}, "misaligned_address"},
      {{{"trapped"}}, "launch_failed"},
      {{{"much_shared"}, "flat", false, 300 << 10}, "invalid_value"},
      {{{"no_such_kernel"}}, "not_found"}};
  for (const auto& [way, reason] : crashing) {
    expect(VerdictKind::kFailRuntime, reason, "add", way);
    const double start = now_s();
    expect_pass("small_add", {{"good"}});
    std::printf("   the next verdict after %.0f ms\n", (now_s() - start) * 1e3);
  }
}

TEST_F(GpuJudge, EndlessKernelsCostTheirBudgetAndNoMore) {
  GpuProcedureOptions options;
  options.run_budget = std::chrono::milliseconds(500);
  for (const char* kernel : {"endless", "endless_when_timed"}) {
    const double start = now_s();
    const Verdict verdict = judge("add", {{kernel}}, options);
    EXPECT_EQ(verdict.kind, VerdictKind::kFailTimeout) << verdict.message;
    const double judged = now_s();
    expect_pass("small_add", {{"good"}});
    std::printf("   %s: %.0f ms, the next verdict after %.0f ms\n", kernel, (judged - start) * 1e3,
                (now_s() - judged) * 1e3);
    EXPECT_LT(now_s() - judged, 5);
  }
}

// The memory of a call is poisoned before it: work that is left undone there cannot be old work.
TEST_F(GpuJudge, OutputsArePoisonedBeforeEachCall) { expect_pass("add", {{"only_when_poisoned"}}); }

TEST_F(GpuJudge, TimesAreThoseOfTheKernel) {
  const Verdict verdict = judge("small_add", {{"fifty_us"}});
  EXPECT_GT(verdict.candidate_us, 50);
  EXPECT_LT(verdict.candidate_us, 60);
}

TEST_F(GpuJudge, SpeedupsRepeat) {
  for (const auto& [task, way] :
       std::vector<std::pair<std::string, Way>>{{"small_add", {{"good"}}},
                                                {"add", {{"good"}}},
                                                {"softmax", {{"softmax"}, "rows"}},
                                                {"product", {{"product"}, "tiles"}}}) {
    std::vector<double> speedups;
    for (int i = 0; i < 10; ++i) speedups.push_back(judge(task, way).speedup);
    const auto [least, most] = std::minmax_element(speedups.begin(), speedups.end());
    std::printf("   %s: speedups of 10 judgings %.3f to %.3f, %.1f %%\n", task.c_str(), *least, *most,
                100 * (*most / *least - 1));
    EXPECT_LT(*most / *least, 1.15) << task;
  }
}

TEST_F(GpuJudge, AManyThousandthCandidateIsAsGoodAsTheFirst) {
  machine->loud = false;
  for (int i = 0; i < 210; ++i) {  // past the age at which a runner retires
    const Verdict verdict = judge("small_add", {{i % 10 == 3 ? "zeros" : "good"}});
    ASSERT_EQ(verdict.pass(), i % 10 != 3) << i << ": " << verdict.message;
  }
}

}  // namespace
}  // namespace temper
