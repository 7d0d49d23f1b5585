#pragma once
// What candidates compute that take memory for granted: an output or a workspace for zeros, a tail for somebody else's,
// what lies beside an input for harmless. The judge's fills (env/call/fill.h, env/gpu/fill.h) are to refuse them.

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "env/call/fill.h"
#include "env/task/task.h"

namespace temper::env {

struct MemoryMutant {
  std::string name;
  // What the mutant makes of right outputs, where memory holds that fill.
  std::function<at::Tensor(const at::Tensor& right, const Shape& shape, Fill fill)> spoiled;
};
std::vector<MemoryMutant> output_mutants(const Task& task, size_t output);

struct NeighbourMutant {
  std::string name;
  // The input with what lies beside it mixed into its last element, or its first.
  std::function<at::Tensor(const at::Tensor& input, const Shape& shape, Fill fill)> mixed;
};
std::vector<NeighbourMutant> neighbour_mutants(const Task& task, size_t input);  // none of indices

}  // namespace temper::env
