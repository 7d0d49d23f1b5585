#include <algorithm>

#include "base/error.h"
#include "env/kernelbench/module_memory.h"
#include "env/verdict/problem_sizes.h"
#include "trainer/plan/plan.h"
#include "trainer/run/interrupted.h"

namespace temper::trainer {
namespace {

constexpr int64_t kCudaTasksBytes = 6ll << 30;  // contexts and the largest task, as seen over all CUDA tasks

struct JudgedProblem {
  std::string name;  // in words where its shapes cannot be told
  env::ModuleMemory memory;
  // Kept draws take what is left.
  int64_t least_bytes() const { return memory.sum() - memory.draws; }
};

std::vector<MemoryItem> items_of(const JudgedProblem& problem) {
  return {{fmt::format("judge, exchange of {}", problem.name), problem.memory.exchange},
          {"judge, its reference", problem.memory.reference},
          {"judge, draws that are kept", problem.memory.draws},
          {"judge, baseline and a candidate", problem.memory.modules},
          {fmt::format("judge, {} contexts", env::kModuleContexts), problem.memory.contexts}};
}

// The problems in PyTorch, smallest first. One whose shapes cannot be told counts as empty.
std::vector<JudgedProblem> problems_of(const RunConfig& config, const std::vector<env::Task>& tasks,
                                       const PlanSite& site, int64_t& unseen) {
  const int64_t gpu_bytes = site.gpu ? site.gpu->memory_bytes : site.free_gpu_bytes;
  const auto [sizes, left] =
      env::look_at_modules(env::module_box_options(config.env.python, config.env.huggingface), tasks,
                           env::problem_sizes_file(config.env.cache));
  unseen = left;
  std::vector<JudgedProblem> problems;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].module)
      problems.push_back(
          {sizes[i] ? tasks[i].name : "no problem whose shapes can be told",
           env::module_memory(sizes[i].value_or(env::ModuleSizes{}), *tasks[i].module, gpu_bytes)});
  std::ranges::stable_sort(problems, {}, &JudgedProblem::least_bytes);
  return problems;
}

// One problem at a time lies there: the largest that fits, or where none does the smallest. A policy that does not fit alone
// leaves none out.
JudgePlan plan_of(std::vector<JudgedProblem> problems, int64_t room, int64_t unseen) {
  JudgePlan plan{.modules = true, .problems = std::ssize(problems), .room_bytes = room};
  plan.items_of_all = items_of(problems.back());
  while (room >= 0 && problems.size() > 1 && problems.back().least_bytes() > room) {
    plan.left_out.push_back({problems.back().name, problems.back().least_bytes()});
    problems.pop_back();
  }
  JudgedProblem& most = problems.back();
  if (room >= 0) most.memory.draws = std::clamp<int64_t>(room - most.least_bytes(), 0, most.memory.draws);
  if (unseen > 0) most.name += fmt::format(", the largest of those looked at so far; {} are left", unseen);
  plan.items = items_of(most);
  return plan;
}

}  // namespace

JudgePlan judge_plan(const RunConfig& config, const policy::ModelConfig& shape,
                     const std::vector<env::Task>& tasks, const PlanSite& site) {
  const auto on_gpu = [](const env::Task& task) { return task.on_gpu(); };
  const auto is_module = [](const env::Task& task) { return task.module.has_value(); };
  const bool modules = std::ranges::any_of(tasks, is_module);
  if (!config.model.policy().on_gpu() || !config.env.gpus.empty() || std::ranges::none_of(tasks, on_gpu))
    return {.modules = modules};
  if (!modules) return {.items = {{"judge", kCudaTasksBytes}}};
  try {
    int64_t unseen = 0;
    std::vector<JudgedProblem> problems = problems_of(config, tasks, site, unseen);
    return plan_of(std::move(problems), room_beside_policy(config, shape, site), unseen);
  } catch (const WorldError& e) {
    throw_if_interrupted();
    // The judge says the same when it starts; a plan for another machine needs no such Python here.
    return {.items = {{fmt::format("judge, sizes not known here ({})", e.what()), kCudaTasksBytes}},
            .modules = true};
  }
}

}  // namespace temper::trainer
