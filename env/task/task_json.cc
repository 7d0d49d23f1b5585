#include "env/task/task_json.h"

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace temper::env {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorSpec, name, type, shape, distribution, low, high, index_bound,
                                   scaled, scale, nonfinite, plain)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModuleProblem, level, id, file, precision, tolerance, correct_trials,
                                   timed_trials)

namespace {

// The members that every task has. A derived type gives them the macro's functions, beside those for a whole task.
struct Members : Task {};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Members, name, language, family, split, reference, dims, inputs, outputs,
                                   check_shapes, timed_shape, magnitudes, tolerance, min_bytes, min_flops,
                                   max_speedup)

}  // namespace

// A task without a module is written as before there were modules, so that its digest stays.
void to_json(nlohmann::json& json, const Task& task) {
  json = Members{task};
  if (task.module) json["module"] = *task.module;
}

void from_json(const nlohmann::json& json, Task& task) {
  task = json.get<Members>();
  if (const auto module = json.find("module"); module != json.end())
    task.module = module->get<ModuleProblem>();
}

std::string tasks_to_json(const std::vector<Task>& tasks) { return nlohmann::json(tasks).dump(); }

std::vector<Task> tasks_from_json(const std::string& text) {
  return nlohmann::json::parse(text).get<std::vector<Task>>();
}

std::string Task::digest() const { return sha256(tasks_to_json({*this})); }

}  // namespace temper::env
