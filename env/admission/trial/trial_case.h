#pragma once
// Draws of a task with what is right for them, held against outputs as the judge does.

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "env/admission/trial/trial_draws.h"
#include "env/admission/trial/trivial.h"
#include "env/call/draw_turns.h"
#include "env/oracle/measured.h"
#include "env/oracle/reference.h"
#include "env/oracle/sensitivity.h"
#include "env/task/task.h"

namespace temper::env {

std::string shape_text(const Shape& shape);  // {n: 3, m: 17}

// One draw and what is right for it.
struct TrialCase {
  const Shape& shape;
  double magnitude;
  Tensors inputs, expected;
  std::vector<double> scale, allowed;       // by output
  bool far = false;                         // whether inputs may depart from plain ones
  std::optional<Movements> movements = {};  // sensitivity.h; as soon as they are asked for
};

class TrialCases {
 public:
  // Errors: ConfigError as Reference.
  TrialCases(const Task& task, Drawer drawer) : task_(task), drawer_(std::move(drawer)), reference_(task) {}

  // `shape` stays where it is while the case lives. Errors: ConfigError where the reference fails, changes
  // its inputs, or is further from itself in double precision than a candidate may be.
  TrialCase make(const Shape& shape, double magnitude, uint64_t seed);

  // A case whose inputs have the forms of that turn (env/call/draw_forms.h), departing as far as this task allows.
  TrialCase make_far(const Shape& shape, double magnitude, DrawTurn turn);

  Tensors draw(const Shape& shape, double magnitude, uint64_t seed) const;  // plainly
  // One input; `spike` changes one of its elements by much, unless it is 0.
  at::Tensor draw_one(const Shape& shape, double magnitude, uint64_t seed, size_t input,
                      uint64_t spike) const;

  bool passes(TrialCase& one, const Tensors& outputs) const;
  Tensors wide(const Tensors& inputs) const;  // the reference in double precision; errors: ConfigError
  void check_outputs(const Shape& shape, const Tensors& outputs) const;  // errors: ConfigError
  const Reference& reference() const { return reference_; }
  double most_allowed() const { return most_allowed_; }  // relative error, of all cases that were made

 private:
  Tensors run_eager(const Shape& shape, const Tensors& inputs) const;
  using FarKey = std::tuple<const Shape*, double, int, DrawKind>;

  const std::vector<double>& scales(const Shape& shape, double magnitude);
  double far(const FarKey& key);
  bool stays_right(const FarKey& key, double far, uint64_t seed);
  Tensors draw_forms_of(const std::vector<DrawForm>& forms, const Shape& shape, double magnitude,
                        uint64_t seed) const;
  Tensors single_precision(const Tensors& inputs, const Tensors& eager) const;
  double worst_error(const TrialCase& one, size_t output, const at::Tensor& got) const;
  double eager_allows(const TrialCase& one, size_t output, const at::Tensor& eager,
                      const at::Tensor& single) const;
  void weigh_eager(TrialCase& one, size_t output, const at::Tensor& eager, const at::Tensor& single);
  bool output_passes(TrialCase& one, size_t output, const at::Tensor& got) const;

  const Task& task_;
  Drawer drawer_;
  Reference reference_;
  double most_allowed_ = 0;
  std::map<std::pair<const Shape*, double>, std::vector<double>> scales_;
  Measured<FarKey, double> far_;
};

}  // namespace temper::env
