#include "rollout/traces/retype.h"

#include <algorithm>
#include <regex>

namespace temper::traces {

using env::ElementType;

void set_least_work(env::Task& task) {
  const bool picks =
      task.reference.find('[') != std::string::npos &&
      std::ranges::any_of(task.inputs, [](const auto& x) { return x.type == ElementType::kI32; });
  const bool multiplies = task.reference.find(" @ ") != std::string::npos;
  const auto set = [&](const env::Shape& shape, double& bytes, double& flops) {
    bytes = 0;
    for (const auto& output : task.outputs) bytes += double(env::tensor_bytes(output, shape));
    for (const auto& input : task.inputs)
      if (!picks) bytes += double(env::tensor_bytes(input, shape));
    if (!multiplies) flops = 0;
  };
  set(task.timed_shape, task.min_bytes, task.min_flops);
  for (env::TimedShape& one : task.further_timed) set(one.sizes, one.min_bytes, one.min_flops);
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
