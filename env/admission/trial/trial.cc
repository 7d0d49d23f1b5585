#include "env/admission/trial/trial.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "env/admission/trial/mutant_trial.h"
#include "env/admission/trial/trial_case.h"
#include "env/admission/trial/trivial.h"
#include "env/oracle/tolerance.h"

namespace temper::env {
namespace {

constexpr uint64_t kSeed = 0x7E3;
constexpr uint64_t kSpikes = 4;  // elements of an input that are changed, one after another
// Draws in which a trivial solver must pass, as it must in all of a verdict's. A sum of millions may come near once by chance.
constexpr uint64_t kDraws = 8, kDrawStep = 16;

int64_t elements_at(const Task& task, const Shape& shape) {
  int64_t elements = 0;
  for (const auto* tensors : {&task.inputs, &task.outputs})
    for (const auto& tensor : *tensors) elements += tensor_elements(tensor, shape);
  return elements;
}

class Trial {
 public:
  Trial(const Task& task, const TrialOptions& options)
      : task_(task), options_(options), cases_(task, options.drawer) {}

  TrialResult run() {
    std::vector<Solver> solvers = all_solvers();
    for (const Shape& shape : task_.check_shapes) try_shape(shape, solvers);
    tell_passing(solvers, "");
    result_.timed = true;
    for (size_t i = 0; i < task_.timed_count(); ++i) {
      const Shape shape = task_.timed(i).sizes;
      if (elements_at(task_, shape) <= options_.most_elements) {
        try_timed(i, shape);
      } else {
        look_at_sizes(shape);
        result_.timed = false;
      }
    }
    tell_idle_inputs();
    result_.allowed = cases_.most_allowed();
    if (options_.mutant_draws > 0)
      result_.mutants = try_mutants(task_, cases_, options_.mutant_draws, result_.timed);
    return std::move(result_);
  }

 private:
  template <class... Arguments>
  void problem(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    result_.problems.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void try_timed(size_t index, const Shape& shape) {
    std::vector<Solver> solvers = all_solvers();
    try_shape(shape, solvers);
    tell_passing(solvers, " at " + timed_words(task_, index));
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

  void tell_passing(const std::vector<Solver>& solvers, const std::string& where) {
    for (const Solver& solver : solvers)
      if (solver.answered) problem("the trivial solver {} passes{}", solver.name, where);
  }

  void try_shape(const Shape& shape, std::vector<Solver>& solvers) {
    for (const double magnitude : task_.magnitudes)
      for (uint64_t draw = 0; draw < kDraws; ++draw) {
        const uint64_t seed = kSeed + draw * kDrawStep;
        TrialCase one = cases_.make(shape, magnitude, seed);
        strike_out(one, seed, solvers);
        if (draw == 0 && idle_.size() + idle_elements_.size() > 0) weigh_inputs(one);
        if (std::ranges::none_of(solvers, &Solver::answered)) break;
      }
  }

  // The solvers that this draw refuses.
  void strike_out(TrialCase& one, uint64_t seed, std::vector<Solver>& solvers) {
    const TrivialRequest request{task_, one.inputs, one.expected,
                                 cases_.wide(cases_.draw(one.shape, one.magnitude, seed + 1)),
                                 [&](const Tensors& inputs) { return cases_.wide(inputs); }};
    std::erase_if(solvers, [&](Solver& solver) {
      const Tensors outputs = trivial_outputs(solver.name, request);
      solver.answered |= !outputs.empty();
      return !outputs.empty() && !cases_.passes(one, outputs);
    });
  }

  // An input matters if another draw of it, and a single element of it, turn right outputs into wrong ones.
  void weigh_inputs(TrialCase& one) {
    const Tensors others = cases_.draw(one.shape, one.magnitude, kSeed + 2);
    std::erase_if(idle_, [&](size_t input) {
      return !cases_.passes(one, cases_.wide(with(one.inputs, input, others[input])));
    });
    std::erase_if(idle_elements_, [&](size_t input) { return element_matters(one, input); });
  }

  bool element_matters(TrialCase& one, size_t input) const {
    for (uint64_t spike = 1; spike <= kSpikes; ++spike) {
      const at::Tensor changed = cases_.draw_one(one.shape, one.magnitude, kSeed, input, spike);
      if (!cases_.passes(one, cases_.wide(with(one.inputs, input, changed)))) return true;
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
  void look_at_sizes(const Shape& shape) {
    Tensors nothing;
    for (const auto& input : task_.inputs)
      nothing.push_back(
          at::empty(tensor_sizes(input, shape), at::device(at::kMeta).dtype(dtype_of(input.type))));
    try {
      run_on_meta(shape, nothing);
    } catch (const c10::NotImplementedError&) {
    }
  }

  void run_on_meta(const Shape& shape, const Tensors& nothing) const {
    Tensors outputs;
    try {
      outputs = cases_.reference()(nothing);
    } catch (const c10::NotImplementedError&) {
      throw;
    } catch (const std::exception& error) {
      throw ConfigError("reference: at {}: {}", shape_text(shape), torch_words(error));
    }
    cases_.check_outputs(shape, outputs);
  }

  static std::vector<size_t> count_up(size_t count) {
    std::vector<size_t> numbers(count);
    for (size_t i = 0; i < count; ++i) numbers[i] = i;
    return numbers;
  }

  const Task& task_;
  const TrialOptions& options_;
  TrialCases cases_;
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

}  // namespace temper::env
