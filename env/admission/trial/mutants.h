#pragma once
// Known short-cuts as changed references: what a policy writes when a judge's inputs let it. A task whose
// draws refuse none of them would teach them.
// Source: DeMillo, Lipton, Sayward, "Hints on test data selection" (1978): tests are as good as the faults
// that they find.

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "env/task/task.h"

namespace temper {

struct Mutant {
  std::string name;  // a few words: "softmax without maximum", "half of the sum", "known range of x"
  // Outputs in single precision, as a candidate computes them, from inputs of the task's types. `magnitude`
  // is that of the draw. Errors: whatever torch throws.
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs, const Shape& shape,
                                        double magnitude)>
      answer;
};

// All mutants that apply to the task's reference and inputs. Some of them compute the same as the reference.
// Errors: ConfigError as Reference.
std::vector<Mutant> mutants_of(const Task& task);

}  // namespace temper
