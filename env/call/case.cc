#include "env/call/case.h"

#include "base/error.h"

namespace temper {

CallLayout case_layout(const Task& task, const Shape& shape) {
  CallLayout layout = lay_out_call({.guard_bytes = kGuardBytes, .align = kBufferAlign},
                                   buffer_bytes(task.inputs, shape), buffer_bytes(task.outputs, shape), {});
  for (size_t i = 0; i < task.inputs.size(); ++i) layout.inputs[i].integers = !is_float(task.inputs[i].type);
  for (size_t i = 0; i < task.outputs.size(); ++i)
    layout.outputs[i].integers = !is_float(task.outputs[i].type);
  return layout;
}

std::vector<int64_t> dim_arguments(const Task& task, const Shape& shape) {
  std::vector<int64_t> sizes;
  for (const auto& dim : task.dims) {
    const auto it = shape.find(dim);
    TEMPER_CHECK(it != shape.end(), "task {}, dimension {}", task.name, dim);
    sizes.push_back(it->second);
  }
  return sizes;
}

}  // namespace temper
