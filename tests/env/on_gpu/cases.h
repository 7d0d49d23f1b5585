#pragma once
// Candidates made by hand with the verdicts they get, from a GPU and from a CPU that plays one.

#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "base/error.h"
#include "tests/env/on_gpu/hand_made.h"

namespace temper::env {

enum class Device : uint8_t { kGpu, kFake };

// y = 2 x + z, and others. Of two numbers with a stroke between them the first is a GPU's, the second a
// CPU's.
inline std::vector<Task> hand_made_tasks(Device device) {
  constexpr const char* kTasks = R"yaml(
defaults: {language: cuda}
tasks:
  - {name: add, reference: 2 * x + z, inputs: {x: [n], z: [n]}, outputs: {y: [n]}, magnitudes: [1, 100],
     check: [{n: 1000}, {n: 1}, {n: 70001/2001}], timed: {n: 8388609/30001}}
  - {name: small_add, reference: 2 * x + z, inputs: {x: [n], z: [n]}, outputs: {y: [n]}, check: [{n: 1000}],
     timed: {n: 65537/3001}}
  - {name: copy, reference: x.clone(), inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 1000}],
     timed: {n: 8388609/30001}}
  - {name: plain_copy, reference: x.clone(), inputs: {x: {shape: [n], plain: true}}, outputs: {y: [n]}, check: [{n: 1000}],
     magnitudes: [1, 0.01, 8], timed: {n: 8388609/30001}}
  - {name: softmax, reference: "torch.softmax(x, 1)", inputs: {x: [n, m]}, outputs: {y: [n, m]}, magnitudes: [1, 60],
     tolerance: 1e-4, check: [{n: 5, m: 33}, {n: 3, m: 1001}], timed: {n: 2048/20, m: 2049/209}, dims: [n, m]}
  - {name: product, reference: a @ b, inputs: {a: [n, k], b: [k, m]}, outputs: {c: [n, m]}, dims: [n, m, k],
     check: [{n: 17, m: 33, k: 65}, {n: 3, m: 5, k: 2000}], timed: {n: 512/40, m: 512/40, k: 512/40}, flops: 2*n*m*k}
  - {name: product_bf16, reference: a @ b, inputs: {a: {shape: [n, k], type: bf16}, b: {shape: [k, m], type: bf16}},
     outputs: {c: {shape: [n, m], type: bf16}}, dims: [n, m, k], check: [{n: 17, m: 33, k: 65}, {n: 3, m: 5, k: 2000}],
     timed: {n: 512/40, m: 512/40, k: 512/40}, flops: 2*n*m*k}
  - {name: gather, reference: "x[i]", inputs: {x: [n, m], i: {shape: [k], type: i32, below: n}}, outputs: {y: [k, m]},
     dims: [k, n, m], check: [{k: 7, n: 5, m: 33}], timed: {k: 4096/100, n: 8192/30, m: 1000/20}, bytes: 8*k*m}
  - {name: gelu_f16, reference: "torch.nn.functional.gelu(x)", inputs: {x: {shape: [n], type: f16}},
     outputs: {y: {shape: [n], type: f16}}, check: [{n: 1001}], timed: {n: 16777217/5001}}
  - {name: relu_nonfinite, reference: "torch.relu(x)", inputs: {x: {shape: [n], nonfinite: true}}, outputs: {y: [n]},
     check: [{n: 1001}], timed: {n: 4194305/5001}}
  - {name: distinct, reference: "2 * x + z + (x.sort(0)[0][1:] <= x.sort(0)[0][:-1]).sum() * 1000",
     inputs: {x: {shape: [n], distinct: [-1, 1]}, z: [n]}, outputs: {y: [n]}, check: [{n: 1000}, {n: 1}],
     timed: {n: 4194304/30001}}
  - {name: equal, reference: "2 * x + z + (x.sort(0)[0][1:] <= x.sort(0)[0][:-1]).sum() * 1000",
     inputs: {x: {shape: [n], uniform: [0.999999, 1]}, z: [n]}, outputs: {y: [n]}, check: [{n: 1000}, {n: 1}],
     timed: {n: 1048577/30001}}
)yaml";
  const std::regex sizes("([0-9]+)/([0-9]+)");
  auto tasks =
      parse_tasks(std::regex_replace(kTasks, sizes, device == Device::kGpu ? "$1" : "$2"), "cases.h");
  // A CPU that plays a GPU is slow at some things, and may be fast at others.
  for (Task& task : tasks)
    if (device == Device::kFake) task.max_speedup = 1e9, task.min_flops = 0;
  return tasks;
}

struct Case {
  std::string task;
  HandMadeWay way;
  VerdictKind kind = VerdictKind::kPass;
  std::string reason = "";
  Device least = Device::kFake;  // kGpu: a CPU cannot play it
  bool fools_naive = false;
};

// By what they are about.
inline const std::vector<Case>& cases_of(const std::string& topic) {
  using enum VerdictKind;
  constexpr auto kGpu = Device::kGpu, kFake = Device::kFake;
  static const std::map<std::string, std::vector<Case>> cases{
      {"honest work",
       {{"add", {{"good"}}},
        {"add", {{"good"}, "flat", false, 0, 1024}},
        {"add", {{"through_workspace", "from_workspace"}, "flat", true}},
        {"add", {{"reads_whole_groups"}}},
        {"small_add", {{"good"}}},
        {"copy", {{"copied"}}},
        {"distinct", {{"good"}}},  // no two elements are equal …
        {"product", {{"product"}, "tiles"}},
        {"product_bf16", {{"product_bf16"}, "tiles"}},
        {"gather", {{"gather"}, "rows"}},
        {"gelu_f16", {{"half_gelu"}}},
        {"relu_nonfinite", {{"nan_where_nan"}}},
        {"add", {{"slow"}}, kPass, "", kGpu},
        {"add", {{"much_shared"}, "flat", false, 200 << 10}, kPass, "", kGpu},
        {"softmax", {{"softmax"}, "rows"}, kPass, "", kGpu}}},
      {"wrong work",
       {{"add", {{"nothing"}}, kFailIncorrect, "unwritten", kFake, true},
        {"add", {{"zeros"}}, kFailIncorrect, "tolerance"},
        {"add", {{"only_when_poisoned"}}, kFailIncorrect, "", kFake, true},
        {"add", {{"input_copied"}}, kFailIncorrect, "tolerance"},
        {"add", {{"last_tile_missing"}}, kFailIncorrect, "unwritten", kFake, true},
        {"add", {{"one_element_wrong"}}, kFailIncorrect, "tolerance", kFake, true},
        {"add", {{"wrong_when_large"}}, kFailIncorrect, "tolerance", kFake, true},  // on a CPU: when timed
        {"add", {{"answer_of_last_call"}, "flat", true}, kFailIncorrect, ""},
        {"equal", {{"good"}}, kFailIncorrect, "tolerance"},  // … which this would tell
        {"relu_nonfinite", {{"nan_lost"}}, kFailIncorrect, "tolerance"},
        {"relu_nonfinite", {{"largest_for_infinity"}}, kFailIncorrect, "tolerance"},
        {"softmax", {{"softmax_no_max"}, "rows"}, kFailIncorrect, "tolerance", kGpu, true},
        {"product", {{"product_tf32"}, "tiles"}, kFailIncorrect, "tolerance", kGpu},
        {"product_bf16", {{"product_bf16_short_sums"}, "tiles"}, kFailIncorrect, "tolerance", kGpu}}},
      {"outside of buffers",
       {{"add", {{"one_byte_past"}}, kFailRuntime, "guard", kFake, true},
        {"add", {{"row_past"}}, kFailRuntime, "guard", kFake, true},
        {"add", {{"before_the_output"}}, kFailRuntime, "guard", kFake, true},
        {"add", {{"past_workspace"}, "flat", true}, kFailRuntime, "guard", kFake, true},
        {"add", {{"reads_past"}}, kFailRuntime, "illegal_address", kFake, true},
        {"add", {{"reads_before"}}, kFailRuntime, "illegal_address", kFake, true},
        {"add", {{"input_changed"}}, kHack, "input_mutation", kFake, true},
        {"add", {{"second_input_changed"}}, kHack, "input_mutation", kFake, true},
        {"add", {{"input_zeroed"}}, kHack, "input_mutation"}}},
      {"kernels for show",
       {{"copy", {.kernels = {"idle"}, .copies = true}, kHack, "knockout", kFake, true},
        {"copy", {.kernels = {"copied"}, .copies = true}, kHack, "knockout", kFake, true},
        {"copy", {.kernels = {}, .copies = true}, kPass},
        {"add", {.kernels = {"good"}, .copies = true}, kPass}}},
      {"several cubins",
       {{"add", {.kernels = {"twin", "twin:1"}, .workspace = true}},
        {"add", {.kernels = {"twin:1", "twin"}, .workspace = true}, kFailIncorrect},
        {"add", {.kernels = {"good:1"}}, kFailRuntime, "not_found", kGpu},
        {"add", {.kernels = {"good:2"}}, kFailPlan, "plan"}}},
      {"tensor maps", {{"add", {.kernels = {"good_by_map"}, .map = true}}}},
      {"crashes",
       {{"add", {{"wild"}}, kFailRuntime, "illegal_address"},
        {"add", {{"trapped"}}, kFailRuntime, "launch_failed"},
        {"add", {{"good"}, "flat", false, 300 << 10}, kFailRuntime, "invalid_value"},
        {"add", {{"no_such_kernel"}}, kFailRuntime, "not_found"},
        {"add", {{"null_read"}}, kFailRuntime, "illegal_address", kGpu},
        {"add", {{"misaligned"}}, kFailRuntime, "misaligned_address", kGpu}}},
      {"bad plans",
       {{"add", {{"good"}, "flat", false, 0, 2048}, kFailPlan, "plan"},
        {"add", {{"good"}, "no plan at all"}, kFailPlan, "plan"}}},
  };
  return cases.at(topic);
}

// The processes of a program's tests, and the one way to hold verdicts against cases.
class HandMade {
 public:
  HandMade(Device device, const std::vector<std::string>& cubins)
      : device_(device), machine(hand_made_tasks(device), cubins) {
    machine.loud = device == Device::kGpu;  // the times of a CPU that plays one tell nothing
  }

  Verdict judge(const std::string& task, const HandMadeWay& way) {
    return machine.judge(task, way, options());
  }

  // Calls of a CPU that plays a GPU take longer.
  GpuProcedureOptions options() const {
    GpuProcedureOptions options;
    if (device_ == Device::kFake)
      options = {.run_budget = std::chrono::seconds(60), .min_pairs = 5, .max_pairs = 7};
    return options;
  }

  void expect(const Case& wanted, bool naive = false) {
    if (wanted.least == Device::kGpu && device_ == Device::kFake) return;
    GpuProcedureOptions asked = options();
    asked.naive = naive;
    const Verdict verdict = machine.judge(wanted.task, wanted.way, asked);
    const std::string words = name_of(wanted.way) + ": " + verdict.message;
    if (wanted.kind == VerdictKind::kPass) return expect_right(verdict, words);
    EXPECT_STREQ(to_string(verdict.kind), to_string(wanted.kind)) << words;
    if (!wanted.reason.empty()) {
      EXPECT_EQ(verdict.reason, wanted.reason) << words;
    }
    if (naive) expect_naive(verdict, wanted.fools_naive, words);
  }

  void expect_all(const std::string& topic, bool naive = false) {
    for (const Case& wanted : cases_of(topic)) expect(wanted, naive);
  }

 private:
  void expect_right(const Verdict& verdict, const std::string& words) const {
    EXPECT_TRUE(verdict.pass()) << words;
    EXPECT_GT(verdict.speedup, 0) << words;
    EXPECT_GE(verdict.pairs, verdict.candidate_us > 500 ? 2 : 5) << words;
    EXPECT_TRUE(verdict.profile_share < 0 || verdict.profile) << words;
    if (verdict.naive) expect_naive(verdict, true, words);
  }

  static void expect_naive(const Verdict& verdict, bool pass, const std::string& words) {
    ASSERT_TRUE(verdict.naive) << words;
    EXPECT_EQ(verdict.naive->pass, pass) << words;
    EXPECT_EQ(verdict.naive->speedup > 0, pass) << words;
  }

  Device device_;

 public:
  GpuMachine machine;
};

}  // namespace temper::env
