#pragma once
// Known short-cuts as changed references: what a policy writes when a judge's inputs let it. A task whose
// draws refuse none of them would teach them.
// Source: DeMillo, Lipton, Sayward, "Hints on test data selection" (1978): tests are as good as the faults
// that they find.

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "env/call/fill.h"
#include "env/task/task.h"

namespace temper::env {

enum class MutantKind : uint8_t { kOperation, kInput, kMemory };
const char* name_of(MutantKind kind);

struct MutantCall {
  const std::vector<at::Tensor>& inputs;  // of the task's types
  const Shape& shape;
  double magnitude = 1;  // of the draw
  Fill fill = {};        // what memory holds besides
};

struct Mutant {
  MutantKind kind = MutantKind::kOperation;
  std::string name;  // a few words: "softmax without maximum", "half of the sum", "known range of x"
  // Outputs in single precision, as a candidate computes them. Errors: whatever torch throws.
  std::function<std::vector<at::Tensor>(const MutantCall& call)> answer;
};

// All mutants that apply to the task's reference and inputs. Some of them compute the same as the reference.
// `task` stays where it is while they live. Errors: ConfigError as Reference.
std::vector<Mutant> mutants_of(const Task& task);

}  // namespace temper::env
