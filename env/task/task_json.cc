#include "env/task/task_json.h"

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace temper::env {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TensorSpec, name, type, shape, distribution, low, high, index_bound,
                                   scaled, scale, nonfinite, plain)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Task, name, language, family, split, reference, dims, inputs, outputs,
                                   check_shapes, timed_shape, magnitudes, tolerance, min_bytes, min_flops,
                                   max_speedup)

std::string tasks_to_json(const std::vector<Task>& tasks) { return nlohmann::json(tasks).dump(); }

std::vector<Task> tasks_from_json(const std::string& text) {
  return nlohmann::json::parse(text).get<std::vector<Task>>();
}

std::string Task::digest() const { return sha256(tasks_to_json({*this})); }

}  // namespace temper::env
