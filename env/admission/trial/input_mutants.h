#pragma once
// Changes of a reference's inputs: what a candidate computes that believes something of them.

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

struct InputMutant {
  std::string name;
  // The values that the mutant uses instead of the input's. `magnitude` is that of the draw.
  std::function<at::Tensor(const at::Tensor& input, const Shape& shape, double magnitude)> believed;
};

// The mutants of one input.
std::vector<InputMutant> input_mutants(const Task& task, size_t input);

}  // namespace temper::env
