#pragma once
// Outputs that took no work, or not all of it.

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

using Tensors = std::vector<at::Tensor>;

struct TrivialRequest {
  const Task& task;
  const Tensors &inputs, &expected;
  Tensors last;  // what was right for another draw
  std::function<Tensors(const Tensors&)> reference;
};

// Poison left alone, constants, means, copies of inputs, the last call's answer, answers to half of an input,
// to inputs with fewer bits.
std::vector<std::string> trivial_names(const Task& task);

// Empty where a solver has no answer, such as half of a single element.
Tensors trivial_outputs(const std::string& name, const TrivialRequest& request);

// `tensors` with another one at `index`.
Tensors with(Tensors tensors, size_t index, at::Tensor other);

}  // namespace temper::env
