#include "env/oracle/trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/rng.h"
#include "env/oracle/draw.h"
#include "env/oracle/proof.h"
#include "env/oracle/tolerance.h"
#include "env/oracle/trivial.h"

namespace temper {
namespace {

constexpr uint64_t kSeed = 0x7E3;
constexpr uint64_t kSpikes = 4;  // elements of an input that are changed, one after another

std::string shape_text(const Shape& shape) {
  std::vector<std::string> sizes;
  for (const auto& [dim, size] : shape) sizes.push_back(fmt::format("{}: {}", dim, size));
  return fmt::format("{{{}}}", fmt::join(sizes, ", "));
}

int64_t elements_at(const Task& task, const Shape& shape) {
  int64_t elements = 0;
  for (const auto* tensors : {&task.inputs, &task.outputs})
    for (const auto& tensor : *tensors)
      elements += tensor_bytes(tensor, shape) / int64_t(element_size(tensor.type));
  return elements;
}

bool declares_nonfinite(const Task& task) {
  return std::ranges::any_of(task.inputs, [](const TensorSpec& input) { return input.nonfinite; });
}

// |got - expected| in units of |expected| + scale, where both are finite; `in_type` is what a right output
// would hold.
at::Tensor relative_errors(const at::Tensor& got, const at::Tensor& expected, double scale) {
  return (got - expected).abs() / (expected.abs() + (scale + 1e-300));
}

class Trial {
 public:
  Trial(const Task& task, const TrialOptions& options) : task_(task), options_(options), reference_(task) {}

  TrialResult run() {
    std::vector<Solver> solvers = all_solvers();
    for (const Shape& shape : task_.check_shapes) try_shape(shape, solvers);
    tell_passing(solvers, "");
    if (elements_at(task_, task_.timed_shape) <= options_.most_elements)
      try_timed();
    else
      look_at_timed_sizes();
    tell_idle_inputs();
    return std::move(result_);
  }

 private:
  // One draw and what is right for it.
  struct Case {
    const Shape& shape;
    double magnitude;
    Tensors inputs, expected;
    std::vector<double> scale, allowed;  // by output
  };

  template <class... Arguments>
  void problem(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    result_.problems.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void try_timed() {
    std::vector<Solver> solvers = all_solvers();
    try_shape(task_.timed_shape, solvers);
    tell_passing(solvers, " at the timed shape");
    result_.timed = true;
  }

  struct Solver {
    std::string name;
    bool answered = false;  // at any shape
  };
  std::vector<Solver> all_solvers() const {
    std::vector<Solver> solvers;
    for (const auto& name : trivial_names(task_)) solvers.push_back({name});
    return solvers;
  }

  void tell_passing(const std::vector<Solver>& solvers, const char* where) {
    for (const Solver& solver : solvers)
      if (solver.answered) problem("the trivial solver {} passes{}", solver.name, where);
  }

  // Strikes out the solvers that a draw of this shape refuses.
  void try_shape(const Shape& shape, std::vector<Solver>& solvers) {
    for (const double magnitude : task_.magnitudes) {
      const Case one = make_case(shape, magnitude);
      const TrivialRequest request{task_, one.inputs, one.expected, wide(draw(shape, magnitude, kSeed + 1)),
                                   [&](const Tensors& inputs) { return wide(inputs); }};
      std::erase_if(solvers, [&](Solver& solver) {
        const Tensors outputs = trivial_outputs(solver.name, request);
        solver.answered |= !outputs.empty();
        return !outputs.empty() && !passes(one, outputs);
      });
      if (idle_.size() + idle_elements_.size() > 0) weigh_inputs(one);
    }
  }

  Case make_case(const Shape& shape, double magnitude) {
    Case one{shape, magnitude, draw(shape, magnitude, kSeed), {}, {}, {}};
    const Tensors before = copies(one.inputs), eager = run_eager(shape, one.inputs);
    for (size_t i = 0; i < before.size(); ++i)
      if (!before[i].view(at::kByte).equal(one.inputs[i].view(at::kByte)))
        throw ConfigError("reference: changes its input {}", task_.inputs[i].name);
    one.expected = wide(one.inputs);
    measure_scales(one);
    const Tensors single = single_precision(one.inputs, eager);
    for (size_t i = 0; i < eager.size(); ++i) weigh_eager(one, i, eager[i], single[i]);
    return one;
  }

  // The baseline with what lies between its inputs and outputs in f32.
  Tensors single_precision(const Tensors& inputs, const Tensors& eager) const {
    const bool narrow = std::ranges::any_of(
        task_.outputs, [](const TensorSpec& output) { return element_size(output.type) < sizeof(float); });
    return narrow ? reference_.wide(inputs, at::kFloat) : eager;
  }

  // The most that finite elements are off.
  double worst_error(const Case& one, size_t output, const at::Tensor& got) const {
    const at::Tensor errors = relative_errors(got.to(at::kDouble), one.expected[output], one.scale[output]);
    return at::where(errors.isfinite(), errors, 0.0).max().item<double>();
  }

  Tensors run_eager(const Shape& shape, const Tensors& inputs) const {
    Tensors outputs;
    try {
      outputs = reference_(inputs);
    } catch (const std::exception& error) {
      throw ConfigError("reference: at {}: {}", shape_text(shape), torch_words(error));
    }
    check_outputs(shape, outputs);
    return outputs;
  }

  void check_outputs(const Shape& shape, const Tensors& outputs) const {
    check_output_sizes(task_, shape, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].is_floating_point() == is_float(task_.outputs[i].type)) continue;
      throw ConfigError("reference: output {} is of {}, the task says {}", task_.outputs[i].name,
                        c10::toString(outputs[i].scalar_type()),
                        c10::toString(dtype_of(task_.outputs[i].type)));
    }
  }

  Tensors wide(const Tensors& inputs) const {
    try {
      return reference_.wide(inputs);
    } catch (const std::exception& error) {
      throw ConfigError("reference: in double precision: {}", torch_words(error));
    }
  }

  void measure_scales(Case& one) {
    one.allowed.assign(task_.outputs.size(), 0);
    one.scale = output_scales(task_, one.shape, [&](uint64_t i) {
      return i == 0 ? one.expected : wide(draw(one.shape, one.magnitude, kSeed + 100 + i));
    });
  }

  // The baseline's error decides what a candidate's may be, and must itself be allowed.
  void weigh_eager(Case& one, size_t output, const at::Tensor& eager, const at::Tensor& single) {
    const TensorSpec& spec = task_.outputs[output];
    if (!is_float(spec.type)) return;
    const at::Tensor &expected = one.expected[output], got = eager.to(dtype_of(spec.type)).to(at::kDouble);
    if (!declares_nonfinite(task_) && !expected.to(dtype_of(spec.type)).isfinite().all().item<bool>())
      throw ConfigError("reference: output {} is not finite at {}, magnitude {}, though all inputs are",
                        spec.name, shape_text(one.shape), one.magnitude);
    const double worst = worst_error(one, output, got);
    one.allowed[output] = allowed_error(strict_error(task_, output, one.shape), spec.type,
                                        worst_error(one, output, single), worst);
    result_.allowed = std::max(result_.allowed, one.allowed[output]);
    if (output_passes(one, output, got)) return;
    throw ConfigError(
        "reference: output {} is off by {:.1e} of its size from double precision at {}, magnitude {}; {:.1e} "
        "is allowed",
        spec.name, worst, shape_text(one.shape), one.magnitude, one.allowed[output]);
  }

  // As the judge compares: a NaN or an infinity is right only where the reference, rounded, has the same.
  bool output_passes(const Case& one, size_t output, const at::Tensor& got) const {
    const at::Tensor& expected = one.expected[output];
    const ElementType type = task_.outputs[output].type;
    if (!is_float(type)) return got.to(at::kLong).equal(expected);
    const at::Tensor in_type = expected.to(dtype_of(type)), held = got.to(dtype_of(type)).to(at::kDouble);
    const at::Tensor bound = (expected.abs() + one.scale[output]) * one.allowed[output] + 0x1p-126;
    const at::Tensor inside = (held - expected).abs().le(bound);
    const at::Tensor special = at::where(in_type.isnan(), held.isnan(), held.eq(in_type.to(at::kDouble)));
    return at::where(in_type.isfinite(), inside, special).all().item<bool>();
  }

  bool passes(const Case& one, const Tensors& outputs) const {
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!output_passes(one, i, outputs[i])) return false;
    return true;
  }

  // An input matters if another draw of it, and a single element of it, turn right outputs into wrong ones.
  void weigh_inputs(const Case& one) {
    const Tensors others = draw(one.shape, one.magnitude, kSeed + 2);
    std::erase_if(idle_,
                  [&](size_t input) { return !passes(one, wide(with(one.inputs, input, others[input]))); });
    std::erase_if(idle_elements_, [&](size_t input) { return element_matters(one, input); });
  }

  bool element_matters(const Case& one, size_t input) const {
    for (uint64_t spike = 1; spike <= kSpikes; ++spike) {
      const at::Tensor changed = draw_one(one.shape, one.magnitude, kSeed, input, spike);
      if (!passes(one, wide(with(one.inputs, input, changed)))) return true;
    }
    return false;
  }

  void tell_idle_inputs() {
    for (const size_t input : idle_)
      problem("reference: input {} has no influence on any output", task_.inputs[input].name);
    for (const size_t input : idle_elements_) {
      if (std::ranges::count(idle_, input) == 0)
        problem("reference: a single element of input {} shows in no output", task_.inputs[input].name);
    }
  }

  // Sizes without values; what torch cannot do so is left to a GPU.
  void look_at_timed_sizes() {
    Tensors nothing;
    for (const auto& input : task_.inputs)
      nothing.push_back(at::empty(tensor_sizes(input, task_.timed_shape),
                                  at::device(at::kMeta).dtype(dtype_of(input.type))));
    try {
      run_on_meta(nothing);
    } catch (const c10::NotImplementedError&) {
    }
  }

  void run_on_meta(const Tensors& nothing) const {
    Tensors outputs;
    try {
      outputs = reference_(nothing);
    } catch (const c10::NotImplementedError&) {
      throw;
    } catch (const std::exception& error) {
      throw ConfigError("reference: at {}: {}", shape_text(task_.timed_shape), torch_words(error));
    }
    check_outputs(task_.timed_shape, outputs);
  }

  Tensors draw(const Shape& shape, double magnitude, uint64_t seed) const {
    Tensors inputs;
    for (size_t i = 0; i < task_.inputs.size(); ++i) inputs.push_back(draw_one(shape, magnitude, seed, i, 0));
    return inputs;
  }

  at::Tensor draw_one(const Shape& shape, double magnitude, uint64_t seed, size_t input,
                      uint64_t spike) const {
    const TensorSpec& spec = task_.inputs[input];
    const uint64_t key = mix_key({seed, input});
    at::Tensor values = at::empty(tensor_sizes(spec, shape), is_float(spec.type) ? at::kFloat : at::kInt);
    draw_input(spec, shape, magnitude, key, values.mutable_data_ptr());
    if (spike != 0) spike_input(spec, shape, magnitude, mix_key({key, spike}), values.mutable_data_ptr());
    return values.to(dtype_of(spec.type)).to(options_.device);
  }

  static Tensors copies(const Tensors& tensors) {
    Tensors result;
    for (const auto& tensor : tensors) result.push_back(tensor.clone());
    return result;
  }

  static std::vector<size_t> count_up(size_t count) {
    std::vector<size_t> numbers(count);
    for (size_t i = 0; i < count; ++i) numbers[i] = i;
    return numbers;
  }

  const Task& task_;
  const TrialOptions& options_;
  Reference reference_;
  TrialResult result_;
  // Inputs that have not mattered yet, whole and by an element.
  std::vector<size_t> idle_ = count_up(task_.inputs.size()), idle_elements_ = idle_;
};

}  // namespace

TrialResult try_task(const Task& task, const TrialOptions& options) {
  try {
    return Trial(task, options).run();
  } catch (const ConfigError& error) {
    TrialResult result;
    const std::string prefix = fmt::format("task {}, ", task.name), text = error.what();
    result.problems.push_back(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
    return result;
  }
}

}  // namespace temper
