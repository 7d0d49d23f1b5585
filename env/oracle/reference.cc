#include "env/oracle/reference.h"

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <algorithm>

#include "base/error.h"
#include "env/oracle/torch_names.h"

namespace temper::env {
namespace jit = torch::jit;

struct Reference::Program {
  std::vector<at::ScalarType> wide;  // by output
  jit::CompilationUnit unit;
  jit::Code code;
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
  jit::Stack stack(inputs.begin(), inputs.end());
  jit::InterpreterState(program_->code).run(stack);
  return tensors_of(stack.back());
}

std::vector<at::Tensor> Reference::wide(const std::vector<at::Tensor>& inputs, at::ScalarType type) const {
  std::vector<at::Tensor> wide;
  for (const auto& input : inputs) wide.push_back(input.is_floating_point() ? input.to(type) : input);
  std::vector<at::Tensor> outputs = (*this)(wide);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = outputs[i].to(program_->wide.at(i)).contiguous();
  return outputs;
}

}  // namespace temper::env
