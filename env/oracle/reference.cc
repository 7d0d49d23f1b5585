#include "env/oracle/reference.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "env/oracle/plain_sums.h"
#include "env/oracle/torch_names.h"

namespace temper::env {
namespace jit = torch::jit;

struct Reference::Program {
  std::vector<at::ScalarType> wide;  // by output
  jit::CompilationUnit unit;
  jit::Code code;
  std::optional<jit::Code> rounded;  // made when it is first asked for
};

namespace {

std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  std::vector<at::Tensor> tensors;
  if (value.isTuple()) {
    for (const auto& element : value.toTupleRef().elements()) {
      if (element.isTensor()) tensors.push_back(element.toTensor());
    }
  }
  return tensors;
}

std::vector<at::Tensor> run(const jit::Code& code, const std::vector<at::Tensor>& inputs) {
  jit::Stack stack(inputs.begin(), inputs.end());
  jit::InterpreterState(code).run(stack);
  return tensors_of(stack.back());
}

std::vector<at::Tensor> converted(const std::vector<at::Tensor>& inputs, at::ScalarType type) {
  std::vector<at::Tensor> wide;
  for (const auto& input : inputs) wide.push_back(input.is_floating_point() ? input.to(type) : input);
  return wide;
}

}  // namespace

std::string torch_words(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string text = torch_error ? torch_error->what_without_backtrace() : error.what();
  text.erase(0, text.find_first_not_of(" \n"));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

bool memory_was_short(const std::exception& error) {
  const std::string words = torch_words(error);
  constexpr const char* kSayings[] = {"out of memory", "ALLOC_FAILED", "can't allocate memory"};
  return std::ranges::any_of(kSayings, [&](const char* saying) { return words.find(saying) != words.npos; });
}

Reference::Reference(const Task& task, const Edit& edit) : program_(std::make_unique<Program>()) {
  try {
    program_->unit.define(std::nullopt, task.reference, torch_names(), nullptr);
    auto& function = jit::toGraphFunction(program_->unit.get_function("reference"));
    if (function.num_inputs() != task.inputs.size()) {
      throw ConfigError("it takes {} arguments, the task has {} inputs", function.num_inputs(),
                        task.inputs.size());
    }
    if (edit) edit(*function.graph());
    program_->code = jit::Code(function.graph(), "reference");
    for (const TensorSpec& output : task.outputs)
      program_->wide.push_back(is_float(output.type) ? at::kDouble : at::kLong);
  } catch (const std::exception& error) {
    throw ConfigError("task {}, reference: {}", task.name, torch_words(error));
  }
}

Reference::~Reference() = default;
Reference::Reference(Reference&&) noexcept = default;
Reference& Reference::operator=(Reference&&) noexcept = default;

std::vector<at::Tensor> Reference::operator()(const std::vector<at::Tensor>& inputs) const {
  return run(program_->code, inputs);
}

std::vector<at::Tensor> Reference::wide(const std::vector<at::Tensor>& inputs, at::ScalarType type) const {
  return in_declared_types((*this)(converted(inputs, type)));
}

std::vector<at::Tensor> Reference::rounded(const std::vector<at::Tensor>& inputs, RoundingErrors errors,
                                           uint64_t key, at::ScalarType type) const {
  if (!program_->rounded) make_rounded();
  const RandomRoundings roundings(errors, key);
  std::vector<at::Tensor> given;
  for (const at::Tensor& input : converted(inputs, type)) given.push_back(roundings.of_input(input));
  return in_declared_types(run(*program_->rounded, given));
}

void Reference::make_rounded() const {
  const auto graph = jit::toGraphFunction(program_->unit.get_function("reference")).graph()->copy();
  round_results(*graph);
  lose_in_sums(*graph);
  program_->rounded = jit::Code(graph, "rounded reference");
}

std::vector<at::Tensor> Reference::in_declared_types(std::vector<at::Tensor> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = outputs[i].to(program_->wide.at(i)).contiguous();
  return outputs;
}

}  // namespace temper::env
