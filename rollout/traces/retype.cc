#include "rollout/traces/retype.h"

#include <algorithm>
#include <regex>

namespace temper::traces {

using env::ElementType;

void set_least_work(env::Task& task) {
  const auto& shape = task.timed_shape;
  const bool picks =
      task.reference.find('[') != std::string::npos &&
      std::ranges::any_of(task.inputs, [](const auto& x) { return x.type == ElementType::kI32; });
  task.min_bytes = 0;
  for (const auto& output : task.outputs) task.min_bytes += double(env::tensor_bytes(output, shape));
  for (const auto& input : task.inputs) {
    if (!picks) task.min_bytes += double(env::tensor_bytes(input, shape));
  }
  if (task.reference.find(" @ ") == std::string::npos) task.min_flops = 0;
}

env::Task with_other_type(env::Task task, Rng& rng) {
  const ElementType from = task.outputs[0].type;
  const auto other = [&](const env::TensorSpec& one) {
    const bool picks = task.reference.find("[" + one.name + "]") != std::string::npos;
    return env::is_float(one.type) ? one.type != from : !picks;
  };
  if (std::ranges::any_of(task.inputs, other) || std::ranges::any_of(task.outputs, other)) return task;
  static const std::regex cube(R"(\b(\w+) \* \1 \* \1\b)");
  const bool large =
      task.reference.find("sum(") != std::string::npos || std::regex_search(task.reference, cube);
  const ElementType types[] = {ElementType::kF32, ElementType::kBF16, ElementType::kF16};
  const ElementType to = types[rng.below(large ? 2 : 3)];
  for (auto* tensors : {&task.inputs, &task.outputs})
    for (env::TensorSpec& one : *tensors)
      if (env::is_float(one.type)) one.type = to;
  set_least_work(task);
  return task;
}

}  // namespace temper::traces
