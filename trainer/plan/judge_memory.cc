#include <algorithm>

#include "base/error.h"
#include "env/kernelbench/module_memory.h"
#include "env/verdict/problem_sizes.h"
#include "trainer/plan/plan.h"
#include "trainer/run/interrupted.h"

namespace temper::trainer {
namespace {

constexpr int64_t kCudaTasksBytes = 6ll << 30;  // contexts and the largest task, as seen over all CUDA tasks

std::vector<MemoryItem> items_of(const env::ModuleMemory& memory, const std::string& name) {
  return {{fmt::format("judge, exchange of {}", name), memory.exchange},
          {"judge, its reference", memory.reference},
          {"judge, draws that are kept", memory.draws},
          {"judge, baseline and a candidate", memory.modules},
          {fmt::format("judge, {} contexts", env::kModuleContexts), memory.contexts}};
}

// One problem at a time lies there.
std::vector<MemoryItem> module_items(const RunConfig& config, const std::vector<env::Task>& tasks,
                                     const PlanSite& site) {
  const int64_t gpu_bytes = site.gpu ? site.gpu->memory_bytes : site.free_gpu_bytes;
  const auto [sizes, left] =
      env::look_at_modules(env::module_box_options(config.env.python, config.env.huggingface), tasks,
                           env::problem_sizes_file(config.env.cache));
  env::ModuleMemory most;
  std::string name = "no problem whose shapes can be told";
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].module) continue;
    const auto memory =
        env::module_memory(sizes[i].value_or(env::ModuleSizes{}), *tasks[i].module, gpu_bytes);
    if (memory.sum() <= most.sum()) continue;
    most = memory;
    if (sizes[i]) name = tasks[i].name;
  }
  if (left > 0) name += fmt::format(", the largest of those looked at so far; {} are left", left);
  return items_of(most, name);
}

}  // namespace

std::vector<MemoryItem> judge_gpu_memory(const RunConfig& config, const std::vector<env::Task>& tasks,
                                         const PlanSite& site) {
  const auto on_gpu = [](const env::Task& task) { return task.on_gpu(); };
  const auto is_module = [](const env::Task& task) { return task.module.has_value(); };
  if (!config.model.policy().on_gpu() || !config.env.gpus.empty() || std::ranges::none_of(tasks, on_gpu))
    return {};
  if (std::ranges::none_of(tasks, is_module)) return {{"judge", kCudaTasksBytes}};
  try {
    return module_items(config, tasks, site);
  } catch (const WorldError& e) {
    throw_if_interrupted();
    // The judge says the same when it starts; a plan for another machine needs no such Python here.
    return {{fmt::format("judge, sizes not known here ({})", e.what()), kCudaTasksBytes}};
  }
}

}  // namespace temper::trainer
