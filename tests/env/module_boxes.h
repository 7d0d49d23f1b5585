#pragma once
// What tests of modules share: a problem, and processes on a core whose Python has torch.

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "env/kernelbench/module_bench.h"
#include "env/kernelbench/module_procedure.h"

namespace temper::env {

// Nothing where there is no such Python; `why` says so.
inline const ModuleBoxOptions* module_options(std::string* why = nullptr) {
  static std::string problem;
  static auto options = []() -> std::optional<ModuleBoxOptions> {
    try {
      ModuleBoxOptions found = module_box_options("");
      found.device = "cpu";
      found.memory_bytes = int64_t(2) << 30;
      // Another one in each process, as limits of processes count by user: tests run side by side.
      found.user = 66'700 + uid_t(::getpid()) % 1'000;
      return found;
    } catch (const WorldError& e) {
      problem = e.what();
      return std::nullopt;
    }
  }();
  if (why != nullptr) *why = problem;
  return options ? &*options : nullptr;
}

#define SKIP_WITHOUT_MODULES()                                     \
  do {                                                             \
    std::string why_;                                              \
    if (!temper::env::module_options(&why_)) GTEST_SKIP() << why_; \
  } while (0)

inline Task module_task(const std::string& name, const std::string& source) {
  Task task;
  task.name = name;
  task.language = "kernelbench";
  task.family = "level1";
  task.split = "train";
  task.reference = source;
  task.max_speedup = 50;
  task.module = ModuleProblem{.level = 1, .id = 1, .file = name + ".py"};
  task.module->timed_trials = 5;
  return task;
}

inline constexpr const char* kModuleProblem = R"(
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = nn.Linear(size, size)
    def forward(self, x):
        return torch.relu(self.linear(x))

def get_inputs():
    return [torch.randn(64, 96)]

def get_init_inputs():
    return [96]
)";

// A candidate for it whose forward has these lines.
inline std::string module_candidate(const std::string& forward, const std::string& before = "") {
  return "import torch, os, time\nimport torch.nn as nn\n" + before +
         "\nclass ModelNew(nn.Module):\n    def __init__(self, size):\n        super().__init__()\n"
         "        self.linear = nn.Linear(size, size)\n    def forward(self, x):\n" +
         forward + "\n";
}
inline constexpr const char* kModuleRight =
    "        return torch.relu(x @ self.linear.weight.T + self.linear.bias)";

inline const ModuleMachine& module_machine() {
  static const ModuleMachine machine = find_module_machine(module_options()->python, "cpu", 0);
  return machine;
}

// One for all tests of a program: its problem is loaded once.
inline ModuleBench& module_bench() {
  static ModuleBench bench(*module_options(), 1);
  return bench;
}

// Without the gate for imports unless it is asked for: what stands behind it shall be seen.
inline Verdict judge_module(const std::string& source, const Task& task,
                            std::chrono::seconds budget = std::chrono::seconds(120), bool gated = false) {
  const ModuleProcedureOptions options{
      .budget = budget, .min_pairs = 5, .max_pairs = 5, .compare_refused = true};
  return ModuleProcedure(options, module_machine(), module_bench(), task)
      .judge({.source = source, .extensions = {}, .gated = gated});
}

inline Verdict judge_module(const std::string& source,
                            std::chrono::seconds budget = std::chrono::seconds(120)) {
  return judge_module(source, module_task("linear_relu", kModuleProblem), budget);
}

}  // namespace temper::env
