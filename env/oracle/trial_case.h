#pragma once
// Draws of a task with what is right for them, held against outputs as the judge does.

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "env/oracle/reference.h"
#include "env/oracle/trivial.h"
#include "env/task.h"

namespace temper {

std::string shape_text(const Shape& shape);  // {n: 3, m: 17}

// One draw and what is right for it.
struct TrialCase {
  const Shape& shape;
  double magnitude;
  Tensors inputs, expected;
  std::vector<double> scale, allowed;  // by output
};

class TrialCases {
 public:
  // Errors: ConfigError as Reference.
  TrialCases(const Task& task, at::Device device) : task_(task), device_(device), reference_(task) {}

  // `shape` stays where it is while the case lives. Errors: ConfigError where the reference fails, changes
  // its inputs, or is further from itself in double precision than a candidate may be.
  TrialCase make(const Shape& shape, double magnitude, uint64_t seed);

  Tensors draw(const Shape& shape, double magnitude, uint64_t seed) const;
  // One input; `spike` changes one of its elements by much, unless it is 0.
  at::Tensor draw_one(const Shape& shape, double magnitude, uint64_t seed, size_t input,
                      uint64_t spike) const;

  bool passes(const TrialCase& one, const Tensors& outputs) const;
  Tensors wide(const Tensors& inputs) const;  // the reference in double precision; errors: ConfigError
  void check_outputs(const Shape& shape, const Tensors& outputs) const;  // errors: ConfigError
  const Reference& reference() const { return reference_; }
  double most_allowed() const { return most_allowed_; }  // relative error, of all cases that were made

 private:
  Tensors run_eager(const Shape& shape, const Tensors& inputs) const;
  void measure_scales(TrialCase& one, uint64_t seed);
  void weigh_eager(TrialCase& one, size_t output, const at::Tensor& eager);
  bool output_passes(const TrialCase& one, size_t output, const at::Tensor& got) const;

  const Task& task_;
  at::Device device_;
  Reference reference_;
  double most_allowed_ = 0;
};

}  // namespace temper
