#pragma once
// Checks that a reference must pass before it is used, on any device.

#include <ATen/ATen.h>

#include <functional>
#include <vector>

#include "env/task/task.h"

namespace temper {

// `work(i)` for each of `count` tasks; the ConfigErrors of all of them as one.
void for_each_task(size_t count, const std::function<void(size_t)>& work);

// Errors: ConfigError where the reference returns other tensors than the task says.
void check_output_sizes(const Task& task, const Shape& shape, const std::vector<at::Tensor>& outputs);

}  // namespace temper
