#include "env/task/task_json.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "base/input/printable.h"

namespace temper::env {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorSpec, name, type, shape, distribution, low, high, index_bound,
                                   scaled, scale, nonfinite, plain)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModuleProblem, level, id, file, precision, tolerance, correct_trials,
                                   timed_trials)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimedShape, sizes, min_bytes, min_flops)

namespace {

// The members that every task has. A derived type gives them the macro's functions, beside those for a whole task.
struct Members : Task {};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Members, name, language, family, split, reference, dims, inputs, outputs,
                                   check_shapes, timed_shape, magnitudes, tolerance, min_bytes, min_flops,
                                   max_speedup)

// Errors: ConfigError with the shape's place among the timed ones.
void check_timed(const Task& task) {
  const auto fail = [&task](const std::string& text) {
    throw ConfigError("task {}, {}", printable(task.name), text);
  };
  if (task.timed_count() > kMaxTimedShapes)
    fail(fmt::format("timed: {} shapes are not allowed; 1 to {}", task.timed_count(), kMaxTimedShapes));
  for (size_t i = 0; i < task.timed_count(); ++i) {
    const TimedShape timed = task.timed(i);
    for (const std::string& dim : task.dims)
      if (!timed.sizes.contains(dim))
        fail(fmt::format("timed[{}]: undefined dimension '{}'", i, printable(dim)));
    for (const auto& [dim, size] : timed.sizes)
      if (size < 1)
        fail(fmt::format("timed[{}].{}: {} is not allowed; an integer above 0", i, printable(dim), size));
    for (size_t before = 0; before < i; ++before)
      if (task.timed(before).sizes == timed.sizes)
        fail(fmt::format("timed[{}]: {} is also timed[{}]; each shape is allowed once", i,
                         sizes_text(timed.sizes), before));
  }
}

}  // namespace

// A task without a module, or with one timed shape, is written as before there were such, so that its digest stays.
void to_json(nlohmann::json& json, const Task& task) {
  json = Members{task};
  if (!task.further_timed.empty()) json["further_timed"] = task.further_timed;
  if (task.module) json["module"] = *task.module;
}

void from_json(const nlohmann::json& json, Task& task) {
  task = json.get<Members>();
  if (const auto module = json.find("module"); module != json.end())
    task.module = module->get<ModuleProblem>();
  if (const auto further = json.find("further_timed"); further != json.end()) {
    if (!further->is_array() || further->empty())
      throw ConfigError("task {}, further_timed: {} is not allowed; a list of shapes, or none",
                        printable(task.name), shown(*further));
    further->get_to(task.further_timed);
  }
  check_timed(task);
}

std::string tasks_to_json(const std::vector<Task>& tasks) { return nlohmann::json(tasks).dump(); }

std::vector<Task> tasks_from_json(const std::string& text) {
  return nlohmann::json::parse(text).get<std::vector<Task>>();
}

std::string Task::digest() const { return sha256(tasks_to_json({*this})); }

}  // namespace temper::env
