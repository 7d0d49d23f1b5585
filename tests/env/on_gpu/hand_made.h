#pragma once
// Candidates from a cubin and plans made by hand, judged by the GPU half of the judge alone.

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "env/plan/cubin.h"
#include "env/plan/plan.h"
#include "env/procedure/gpu_procedure.h"

namespace temper::env {

// How a candidate launches: one thread an element, or as said.
struct HandMadeWay {
  std::vector<std::string> kernels = {};  // "NAME", or "NAME:1" for that of the second cubin
  std::string shape = "flat";  // rows: a block a row of the first output; tiles: 16 × 16 of its last two axes
  bool workspace = false;      // the last argument, as large as the first output
  uint32_t shared = 0;
  uint32_t threads = 256;
  bool copies = false;  // the first input to the first output, before all kernels
  bool map = false;     // the first input comes as a tensor map
  uint32_t map_at = 0;  // its place among the arguments
  // Behind the kernels, of each of these lists one by choice. The first one's configuration is 10, the next one's 20.
  std::vector<std::vector<std::string>> tuned = {};
  std::vector<std::string> further_kernels =
      {};  // at the timed shapes behind the first, where they are others
};

inline std::string name_of(const HandMadeWay& way) {
  if (!way.kernels.empty()) return way.kernels[0];
  return way.tuned.empty() ? "no kernel" : "one of " + way.tuned[0][0];
}

inline Extent grid_of(const HandMadeWay& way, const std::vector<int64_t>& sizes) {
  const auto up = [](int64_t a, int64_t b) { return uint32_t((a + b - 1) / b); };
  int64_t all = 1;
  for (const int64_t size : sizes) all *= size;
  if (way.shape == "rows") return {uint32_t(sizes[0]), 1, 1};
  if (way.shape == "tiles") return {up(sizes[1], 16), up(sizes[0], 16), 1};
  return {std::min<uint32_t>(up(all, way.threads), 4096), 1, 1};
}

inline void append(std::vector<uint8_t>& arguments, const void* value, size_t bytes) {
  arguments.resize((arguments.size() + bytes - 1) / bytes * bytes);
  const auto* data = static_cast<const uint8_t*>(value);
  arguments.insert(arguments.end(), data, data + bytes);
}

inline KernelLaunch launch_of(const Task& task, const Shape& shape, const HandMadeWay& way, uint32_t kernel) {
  KernelLaunch launch;
  launch.kernel = kernel;
  launch.grid = grid_of(way, tensor_sizes(task.outputs[0], shape));
  launch.block = way.shape == "tiles" ? Extent{16, 16, 1} : Extent{way.threads, 1, 1};
  launch.shared_bytes = way.shared;
  const uint64_t nowhere = 0;
  const auto pointer = [&](Space space, size_t index) {
    append(launch.arguments, &nowhere, sizeof nowhere);
    launch.relocations.push_back({uint32_t(launch.arguments.size() - 8), {space, uint32_t(index), 0}});
  };
  if (way.map) {
    launch.arguments.resize(way.map_at + kTensorMapBytes);
    launch.tensor_maps = {{.at = way.map_at,
                           .pointer = {Space::kInput, 0, 0},
                           .element_type = 7,
                           .sizes = {tensor_elements(task.inputs[0], shape)},
                           .strides = {},
                           .box = {256}}};
  }
  for (size_t i = way.map ? 1 : 0; i < task.inputs.size(); ++i) pointer(Space::kInput, i);
  for (size_t i = 0; i < task.outputs.size(); ++i) pointer(Space::kOutput, i);
  for (const auto& dim : task.dims) {
    const auto size = int32_t(shape.at(dim));
    append(launch.arguments, &size, sizeof size);
  }
  if (way.workspace) pointer(Space::kWorkspace, 0);
  return launch;
}

inline PlanKernel kernel_of(const std::string& text, const HandMadeWay& way) {
  const size_t colon = text.find(':');
  const bool first = colon == std::string::npos;
  return {.name = text.substr(0, colon),
          .max_dynamic_shared = way.shared,
          .cubin = first ? 0 : uint32_t(std::stoul(text.substr(colon + 1)))};
}

inline void add_choices(const Task& task, const Shape& shape, const HandMadeWay& way, LaunchPlan& plan) {
  for (const auto& kernels : way.tuned) {
    Choice& choice = plan.choices.emplace_back();
    choice.at = uint32_t(plan.steps.size());
    choice.slot = uint32_t(plan.choices.size() - 1);
    for (const std::string& name : kernels) {
      plan.kernels.push_back(kernel_of(name, way));
      const uint32_t configuration = 10 * uint32_t(choice.alternatives.size() + 1);
      choice.alternatives.push_back({configuration,
                                     "KERNEL: " + name,
                                     {launch_of(task, shape, way, uint32_t(plan.kernels.size() - 1))}});
    }
  }
}

inline std::string plan_of(const Task& task, const Shape& shape, const HandMadeWay& way) {
  if (way.shape == "no plan at all") return way.shape;
  LaunchPlan plan;
  if (way.workspace) plan.workspaces.push_back(tensor_bytes(task.outputs[0], shape));
  if (way.copies)
    plan.steps.push_back(
        Copy{{Space::kOutput, 0, 0}, {Space::kInput, 0, 0}, tensor_bytes(task.outputs[0], shape)});
  for (const auto& name : way.kernels) {
    plan.kernels.push_back(kernel_of(name, way));
    plan.steps.push_back(launch_of(task, shape, way, uint32_t(plan.kernels.size() - 1)));
  }
  add_choices(task, shape, way, plan);
  return serialize(plan);
}

// The processes behind the verdicts.
struct GpuMachine {
  std::vector<Task> tasks;
  std::vector<std::string> cubins;
  GpuOracleProcess oracle;
  std::optional<GpuRunnerPool> runners;
  std::optional<GpuProfiler> profiler;
  GpuFactsWire gpu;
  bool loud = true;  // a line a verdict

  // Programs lie where this one does. `device_code` are the candidates' cubins.
  GpuMachine(std::vector<Task> asked, std::vector<std::string> device_code)
      : tasks(std::move(asked)),
        cubins(std::move(device_code)),
        oracle((executable_dir() / "temper-gpu-oracle").string(), 0, tasks) {
    oracle.wait_ready();
    const GpuRunnerOptions runner_options{(executable_dir() / "temper-gpu-runner").string(), 0,
                                          oracle.exchange(), oracle.bytes()};
    runners.emplace(runner_options);
    profiler.emplace(runner_options);
    gpu = runners->runner().wait_ready();
    runners->prepare();
  }

  // A compiler aligns a tensor map to where the GPU keeps parameters, which the cubin alone tells. What stands for a
  // cubin on the fake GPU has it first.
  HandMadeWay placed(HandMadeWay way) const {
    Cubin cubin;
    if (way.map && read_cubin(cubins.at(0), cubin).empty())
      way.map_at = cubin.find(way.kernels.at(0))->parameters.at(0).offset;
    return way;
  }

  Verdict judge(const std::string& name, const HandMadeWay& asked, GpuProcedureOptions options = {}) {
    const HandMadeWay way = placed(asked);
    uint32_t index = 0;
    while (tasks.at(index).name != name) ++index;
    const Task& task = tasks[index];
    GpuCandidate candidate{.cubins = cubins, .plans = {}};
    for (const Shape& shape : task.check_shapes) candidate.plans.push_back(plan_of(task, shape, way));
    candidate.plans.push_back(plan_of(task, task.timed_shape, way));
    HandMadeWay further = way;
    if (!way.further_kernels.empty()) further.kernels = way.further_kernels;
    for (const TimedShape& shape : task.further_timed)
      candidate.plans.push_back(plan_of(task, shape.sizes, further));
    const GpuProcesses processes{oracle, *runners, &*profiler};
    const Verdict verdict = GpuProcedure(options, gpu, processes, tasks, index).judge(candidate);
    runners->prepare();
    profiler->prepare();
    if (loud) print(way, verdict);
    return verdict;
  }

  static void print(const HandMadeWay& way, const Verdict& v) {
    std::printf(
        "%-24s %-14s %-18s %5.2fx [%.2f, %.2f] %8.1f us, baseline %8.1f, floor %6.1f, %2ld pairs, %6.1f ms | "
        "%s\n",
        name_of(way).c_str(), to_string(v.kind), v.reason.c_str(), v.speedup, v.speedup_low, v.speedup_high,
        v.candidate_us, v.baseline_us, v.floor_us, v.pairs, v.run_ms, v.message.c_str());
  }
};

}  // namespace temper::env
