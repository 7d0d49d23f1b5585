#include "env/oracle/trial_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "env/oracle/draw.h"
#include "env/oracle/proof.h"
#include "env/oracle/tolerance.h"

namespace temper {
namespace {

bool declares_nonfinite(const Task& task) {
  return std::ranges::any_of(task.inputs, [](const TensorSpec& input) { return input.nonfinite; });
}

// |got - expected| in units of |expected| + scale, where both are finite; `in_type` is what a right output
// would hold.
at::Tensor relative_errors(const at::Tensor& got, const at::Tensor& expected, double scale) {
  return (got - expected).abs() / (expected.abs() + (scale + 1e-300));
}

Tensors copies(const Tensors& tensors) {
  Tensors result;
  for (const auto& tensor : tensors) result.push_back(tensor.clone());
  return result;
}

}  // namespace

std::string shape_text(const Shape& shape) {
  std::vector<std::string> sizes;
  for (const auto& [dim, size] : shape) sizes.push_back(fmt::format("{}: {}", dim, size));
  return fmt::format("{{{}}}", fmt::join(sizes, ", "));
}

TrialCase TrialCases::make(const Shape& shape, double magnitude, uint64_t seed) {
  TrialCase one{shape, magnitude, draw(shape, magnitude, seed), {}, {}, {}};
  const Tensors before = copies(one.inputs), eager = run_eager(shape, one.inputs);
  for (size_t i = 0; i < before.size(); ++i)
    if (!before[i].view(at::kByte).equal(one.inputs[i].view(at::kByte)))
      throw ConfigError("reference: changes its input {}", task_.inputs[i].name);
  one.expected = wide(one.inputs);
  measure_scales(one, seed);
  for (size_t i = 0; i < eager.size(); ++i) weigh_eager(one, i, eager[i]);
  return one;
}

Tensors TrialCases::run_eager(const Shape& shape, const Tensors& inputs) const {
  Tensors outputs;
  try {
    outputs = reference_(inputs);
  } catch (const std::exception& error) {
    throw ConfigError("reference: at {}: {}", shape_text(shape), torch_words(error));
  }
  check_outputs(shape, outputs);
  return outputs;
}

void TrialCases::check_outputs(const Shape& shape, const Tensors& outputs) const {
  check_output_sizes(task_, shape, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].is_floating_point() == is_float(task_.outputs[i].type)) continue;
    throw ConfigError("reference: output {} is of {}, the task says {}", task_.outputs[i].name,
                      c10::toString(outputs[i].scalar_type()),
                      c10::toString(dtype_of(task_.outputs[i].type)));
  }
}

Tensors TrialCases::wide(const Tensors& inputs) const {
  try {
    return reference_.wide(inputs);
  } catch (const std::exception& error) {
    throw ConfigError("reference: in double precision: {}", torch_words(error));
  }
}

void TrialCases::measure_scales(TrialCase& one, uint64_t seed) {
  one.allowed.assign(task_.outputs.size(), 0);
  one.scale = output_scales(task_, one.shape, [&](uint64_t i) {
    return i == 0 ? one.expected : wide(draw(one.shape, one.magnitude, seed + 100 + i));
  });
}

// The baseline's error decides what a candidate's may be, and must itself be allowed.
void TrialCases::weigh_eager(TrialCase& one, size_t output, const at::Tensor& eager) {
  const TensorSpec& spec = task_.outputs[output];
  if (!is_float(spec.type)) return;
  const at::Tensor &expected = one.expected[output], got = eager.to(dtype_of(spec.type)).to(at::kDouble);
  if (!declares_nonfinite(task_) && !expected.to(dtype_of(spec.type)).isfinite().all().item<bool>())
    throw ConfigError("reference: output {} is not finite at {}, magnitude {}, though all inputs are",
                      spec.name, shape_text(one.shape), one.magnitude);
  const at::Tensor errors = relative_errors(got, expected, one.scale[output]);
  const double worst = at::where(errors.isfinite(), errors, 0.0).max().item<double>();
  one.allowed[output] = allowed_error(strict_error(task_, output, one.shape), spec.type, worst);
  most_allowed_ = std::max(most_allowed_, one.allowed[output]);
  if (output_passes(one, output, got)) return;
  throw ConfigError(
      "reference: output {} is off by {:.1e} of its size from double precision at {}, magnitude {}; {:.1e} "
      "is allowed",
      spec.name, worst, shape_text(one.shape), one.magnitude, one.allowed[output]);
}

// As the judge compares: a NaN or an infinity is right only where the reference, rounded, has the same.
bool TrialCases::output_passes(const TrialCase& one, size_t output, const at::Tensor& got) const {
  const at::Tensor& expected = one.expected[output];
  const ElementType type = task_.outputs[output].type;
  if (!is_float(type)) return got.to(at::kLong).equal(expected);
  const at::Tensor in_type = expected.to(dtype_of(type)), held = got.to(dtype_of(type)).to(at::kDouble);
  const at::Tensor bound = (expected.abs() + one.scale[output]) * one.allowed[output] + 0x1p-126;
  const at::Tensor inside = (held - expected).abs().le(bound);
  const at::Tensor special = at::where(in_type.isnan(), held.isnan(), held.eq(in_type.to(at::kDouble)));
  return at::where(in_type.isfinite(), inside, special).all().item<bool>();
}

bool TrialCases::passes(const TrialCase& one, const Tensors& outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!output_passes(one, i, outputs[i])) return false;
  return true;
}

Tensors TrialCases::draw(const Shape& shape, double magnitude, uint64_t seed) const {
  Tensors inputs;
  for (size_t i = 0; i < task_.inputs.size(); ++i) inputs.push_back(draw_one(shape, magnitude, seed, i, 0));
  return inputs;
}

at::Tensor TrialCases::draw_one(const Shape& shape, double magnitude, uint64_t seed, size_t input,
                                uint64_t spike) const {
  const TensorSpec& spec = task_.inputs[input];
  const uint64_t key = mix_key({seed, input});
  at::Tensor values = at::empty(tensor_sizes(spec, shape), is_float(spec.type) ? at::kFloat : at::kInt);
  draw_input(spec, shape, magnitude, key, values.mutable_data_ptr());
  if (spike != 0) spike_input(spec, shape, magnitude, mix_key({key, spike}), values.mutable_data_ptr());
  return values.to(dtype_of(spec.type)).to(device_);
}

}  // namespace temper
