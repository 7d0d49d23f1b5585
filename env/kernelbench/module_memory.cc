#include "env/kernelbench/module_memory.h"

#include <algorithm>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr seconds kMemoryPatience{60};          // for one problem, whose modules have no values
constexpr int64_t kContextBytes = 600ll << 20;  // a context, torch's kernels and workspaces of products
constexpr int64_t kStrictDraws = 24;            // of a candidate that is not audited: checks and pairs
constexpr double kStrictShare = 0.15, kComparableShare = 0.2;  // of env/kernelbench/python/room.py

int64_t bytes_in(const Json& json, const char* key) {
  const auto bytes = json.contains(key) ? whole_number(json.at(key)) : std::nullopt;
  if (!bytes || *bytes < 0)
    throw WorldError("the sizes of a problem are told oddly: {}", printable(json.dump(), 200));
  return *bytes;
}

int64_t share_of(int64_t bytes, double share) { return int64_t(double(bytes) * share); }

}  // namespace

std::vector<std::optional<ModuleSizes>> module_sizes(const ModuleBoxOptions& options,
                                                     const std::vector<Task>& tasks) {
  ModuleBoxOptions on_a_core = options;
  on_a_core.device = "cpu";
  on_a_core.gpu_uuid.clear();
  on_a_core.nodes.clear();
  std::optional<ModuleProcess> process;
  std::vector<std::optional<ModuleSizes>> sizes(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].module) continue;
    if (!process) {
      process.emplace(
          on_a_core,
          ModuleProgram{.program = "sizes_main.py", .arguments = {}, .descriptors = {}, .trusted = true});
      process->wait_ready();
    }
    const ModuleFrame frame = process->ask(
        {{"source", tasks[i].reference}, {"precision", tasks[i].module->precision}}, kMemoryPatience);
    if (!frame.json) {  // others can still be told
      process.reset();
      continue;
    }
    if (frame.json->value("status", "") == "ok")
      sizes[i] = ModuleSizes{bytes_in(*frame.json, "inputs"), bytes_in(*frame.json, "weights"),
                             bytes_in(*frame.json, "outputs")};
  }
  return sizes;
}

// With I, W and O for the bytes of inputs, weights and outputs, f for how much larger a number is in float64, M for the GPU's
// memory and t for the comparable trials (judged.py, strict.py, room.py):
//   exchange   2 I + W + O: two places for the inputs, so that they move from call to call
//   reference  (2 + f) W + I + 2 O + O + f (I + O): KernelBench's weights and the strict ones, these in float64, too; a draw with
//              what is expected and its correction; a snapshot of the outputs; the run in float64
//   draws      min(0.15 M, 24 (I + 2 O)) + min(0.2 M, t (I + O)), strict and comparable
//   modules    2 (W + O): the baseline and a candidate, without what they compute in between
//   contexts   5
ModuleMemory module_memory(const ModuleSizes& sizes, const ModuleProblem& problem, int64_t gpu_bytes) {
  const auto [inputs, weights, outputs] = sizes;
  const int64_t widened = problem.precision == "fp32" ? 2 : 4;
  return {
      .exchange = 2 * inputs + weights + outputs,
      .reference = (2 + widened) * weights + inputs + 3 * outputs + widened * (inputs + outputs),
      .draws = std::min(share_of(gpu_bytes, kStrictShare), kStrictDraws * (inputs + 2 * outputs)) +
               std::min(share_of(gpu_bytes, kComparableShare), problem.correct_trials * (inputs + outputs)),
      .modules = 2 * (weights + outputs),
      .contexts = kModuleContexts * kContextBytes};
}

}  // namespace temper::env
