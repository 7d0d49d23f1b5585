#include "env/admission/trial/trial_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "env/oracle/proof.h"
#include "env/oracle/tolerance.h"

namespace temper::env {
namespace {

constexpr uint64_t kScaleSeed = 0x5CA1E;

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
  one.scale = scales(shape, magnitude);
  one.allowed.assign(task_.outputs.size(), 0);
  const Tensors single = single_precision(one.inputs, eager);
  for (size_t i = 0; i < eager.size(); ++i) weigh_eager(one, i, eager[i], single[i]);
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

const std::vector<double>& TrialCases::scales(const Shape& shape, double magnitude) {
  auto& known = scales_[{&shape, magnitude}];
  if (known.empty())
    known = output_scales(task_, shape,
                          [&](uint64_t i) { return wide(draw(shape, magnitude, mix_key({kScaleSeed, i}))); });
  return known;
}

// The baseline with what lies between its inputs and outputs in f32.
Tensors TrialCases::single_precision(const Tensors& inputs, const Tensors& eager) const {
  const bool narrow = std::ranges::any_of(
      task_.outputs, [](const TensorSpec& output) { return element_size(output.type) < sizeof(float); });
  return narrow ? reference_.wide(inputs, at::kFloat) : eager;
}

// The most that finite elements are off.
double TrialCases::worst_error(const TrialCase& one, size_t output, const at::Tensor& got) const {
  const at::Tensor errors = relative_errors(got.to(at::kDouble), one.expected[output], one.scale[output]);
  return at::where(errors.isfinite(), errors, 0.0).max().item<double>();
}

// The baseline's error decides what a candidate's may be.
double TrialCases::eager_allows(const TrialCase& one, size_t output, const at::Tensor& eager,
                                const at::Tensor& single) const {
  const ElementType type = task_.outputs[output].type;
  if (!is_float(type)) return 0;
  return allowed_error(strict_error(task_, output, one.shape), type, worst_error(one, output, single),
                       worst_error(one, output, eager.to(dtype_of(type))));
}

// … and must itself be allowed.
void TrialCases::weigh_eager(TrialCase& one, size_t output, const at::Tensor& eager,
                             const at::Tensor& single) {
  const TensorSpec& spec = task_.outputs[output];
  if (!is_float(spec.type)) return;
  const at::Tensor &expected = one.expected[output], got = eager.to(dtype_of(spec.type)).to(at::kDouble);
  if (!declares_nonfinite(task_) && !expected.to(dtype_of(spec.type)).isfinite().all().item<bool>())
    throw ConfigError("reference: output {} is not finite at {}, magnitude {}, though all inputs are",
                      spec.name, shape_text(one.shape), one.magnitude);
  one.allowed[output] = eager_allows(one, output, eager, single);
  most_allowed_ = std::max(most_allowed_, one.allowed[output]);
  if (output_passes(one, output, got)) return;
  throw ConfigError(
      "reference: output {} is off by {:.1e} of its size from double precision at {}, magnitude {}; {:.1e} "
      "is allowed",
      spec.name, worst_error(one, output, got), shape_text(one.shape), one.magnitude, one.allowed[output]);
}

// As the judge compares: a NaN or an infinity is right only where the reference, rounded, has the same.
bool TrialCases::output_passes(TrialCase& one, size_t output, const at::Tensor& got) const {
  const at::Tensor& expected = one.expected[output];
  const ElementType type = task_.outputs[output].type;
  if (!is_float(type)) return got.to(at::kLong).equal(expected);
  const at::Tensor in_type = expected.to(dtype_of(type)), held = got.to(dtype_of(type)).to(at::kDouble);
  const at::Tensor bound = (expected.abs() + one.scale[output]) * one.allowed[output] + 0x1p-126;
  const at::Tensor off = (held - expected).abs();
  const at::Tensor special = at::where(in_type.isnan(), held.isnan(), held.eq(in_type.to(at::kDouble)));
  const auto outside = [&](const at::Tensor& most) {
    const at::Tensor inside = at::where(in_type.isfinite(), off.le(most), special);
    return double(inside.logical_not().sum().item<int64_t>()) / double(std::max<int64_t>(inside.numel(), 1));
  };
  if (outside(bound) == 0) return true;
  if (!one.movements) {
    const RoundingErrors errors = one.far ? rounding_errors(task_, one.shape) : kLossesAlone;
    const auto rounded = [this, inputs = one.inputs, errors](uint64_t key) {
      return reference_.rounded(inputs, errors, key);
    };
    one.movements.emplace(rounded, one.expected, kScaleSeed);
  }
  return one.movements->explain(output, [&](const at::Tensor& moved) {
    return outside(bound + at::where(moved.isfinite(), moved * kMovements, 0.0));
  });
}

bool TrialCases::passes(TrialCase& one, const Tensors& outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!output_passes(one, i, outputs[i])) return false;
  return true;
}

TrialCase TrialCases::make_far(const Shape& shape, double magnitude, DrawTurn turn) {
  const uint64_t seed = mix_key({turn.key, uint64_t(turn.number)});
  const auto forms = draw_forms(task_, shape, magnitude, seed, turn, [&](int input, DrawKind kind) {
    return far({&shape, magnitude, input, kind});
  });
  TrialCase one{shape, magnitude, draw_forms_of(forms, shape, magnitude, seed), {}, scales(shape, magnitude),
                {},    true};
  one.expected = wide(one.inputs);
  const Tensors eager = run_eager(shape, one.inputs);
  const Tensors single = single_precision(one.inputs, eager);
  for (size_t i = 0; i < eager.size(); ++i) one.allowed.push_back(eager_allows(one, i, eager[i], single[i]));
  return one;
}

double TrialCases::far(const FarKey& key) {
  const auto right = [&](double distance, uint64_t seed) { return stays_right(key, distance, seed); };
  return far_.of(key, [&] { return farthest(std::get<DrawKind>(key), right); });
}

// As the judge's oracle measures it.
bool TrialCases::stays_right(const FarKey& key, double far, uint64_t seed) {
  const auto& [shape, magnitude, input, kind] = key;
  const auto forms = outermost_forms(task_, *shape, magnitude, seed, input, kind, far);
  TrialCase one{
      *shape, magnitude, draw_forms_of(forms, *shape, magnitude, seed), {}, scales(*shape, magnitude), {}};
  one.expected = wide(one.inputs);
  const Tensors got = single_precision(one.inputs, run_eager(*shape, one.inputs));
  for (size_t i = 0; i < got.size(); ++i)
    one.allowed.push_back(kNeighbourhood * strict_error(task_, i, *shape));
  for (size_t i = 0; i < got.size(); ++i) {
    const TensorSpec& output = task_.outputs[i];
    const at::Tensor& right = one.expected[i];
    const bool large = is_float(output.type) && !declares_nonfinite(task_) &&
                       !right.to(dtype_of(output.type)).isfinite().all().item<bool>();
    const bool grown = is_float(output.type) && singles_out(kind) &&
                       right.abs().max().item<double>() > one.scale[i] * most_growth(task_, i, *shape);
    if (large || grown || !output_passes(one, i, got[i])) return false;
  }
  return true;
}

Tensors TrialCases::draw_forms_of(const std::vector<DrawForm>& forms, const Shape& shape, double magnitude,
                                  uint64_t seed) const {
  Tensors inputs;
  for (size_t i = 0; i < task_.inputs.size(); ++i)
    inputs.push_back(drawer_({task_.inputs[i], shape, magnitude, mix_key({seed, i}), forms[i]}));
  return inputs;
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
  const DrawForm plain = draw_form(spec, shape, magnitude, DrawKind::kPlain, 0, key, 1);
  TrialDraw draw{spec, shape, magnitude, key, plain};
  if (spike != 0) draw.spike = mix_key({key, spike});
  return drawer_(draw);
}

}  // namespace temper::env
