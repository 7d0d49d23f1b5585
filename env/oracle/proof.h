#pragma once
// Checks that a reference must pass before it is used, on any device.

#include <ATen/ATen.h>

#include <functional>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

// `work(i)` for each of `count` tasks; the ConfigErrors of all of them as one.
void for_each_task(size_t count, const std::function<void(size_t)>& work);

// Errors: ConfigError where the reference returns other tensors than the task says.
void check_output_sizes(const Task& task, const Shape& shape, const std::vector<at::Tensor>& outputs);

bool same_bits(const at::Tensor& a, const at::Tensor& b);  // of contiguous tensors alike in shape and type

// How the inputs of a shape are drawn, whose number is as in shape_of (env/task/task.h), from one of the two fixed seeds 0 and 1,
// and what is right for inputs.
struct InfluenceProbe {
  std::function<std::vector<at::Tensor>(int32_t shape, uint64_t seed)> draw;
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)> expected;
};
// Errors: ConfigError where an input changes no bit of any output, at any shape of the task.
void check_influence(const Task& task, const InfluenceProbe& probe);

}  // namespace temper::env
