// Triton: a Python file with kernels and a function that launches them.
//
// The entry point gets the task's inputs as tensors on the GPU, contiguous, and then its sizes. It returns the output, or a
// tuple of the outputs in the task's order:
//   def launch(x: torch.Tensor, b: torch.Tensor, n: int, m: int) -> torch.Tensor:
// It runs where there is no GPU: its tensors hold no values, and what it launches becomes a plan (env/plan/triton/box.h).

#include <fmt/ranges.h>

#include <map>

#include "base/error.h"
#include "env/languages/language.h"

namespace temper::env {
namespace {

// The dtype of a tensor whose elements C knows by that name.
std::string dtype_of(const std::string& c_type) {
  static const std::map<std::string, std::string> names{
      {"float", "float32"}, {"int", "int32"}, {"__nv_bfloat16", "bfloat16"}, {"__half", "float16"}};
  const auto known = names.find(c_type);
  TEMPER_CHECK(known != names.end(), "type {}", c_type);
  return known->second;
}

// Python's annotations do not tell what a tensor holds, so a comment behind the declaration does.
std::string signature(const std::vector<CallParameter>& parameters) {
  std::vector<std::string> arguments, taken, returned, results;
  for (const CallParameter& one : parameters) {
    const bool size = one.role == CallParameter::Role::kSize;
    const bool output = one.role == CallParameter::Role::kOutput;
    if (!output) arguments.push_back(one.name + (size ? ": int" : ": torch.Tensor"));
    if (output) results.emplace_back("torch.Tensor");
    if (!size) (output ? returned : taken).push_back(one.name + ": " + dtype_of(one.type));
  }
  const std::string result =
      results.size() == 1 ? results[0] : fmt::format("tuple[{}]", fmt::join(results, ", "));
  return fmt::format("def {}({}) -> {}:  # {} -> {}", kTriton.entry_point, fmt::join(arguments, ", "), result,
                     fmt::join(taken, ", "), fmt::join(returned, ", "));
}

}  // namespace

const Language kTriton{
    .name = "triton",
    .fence_words = {"triton", "python", "python3", "py"},
    .title = "Triton",
    .calling =
        "The function gets contiguous tensors on the GPU, and then the sizes. It allocates the output, "
        "starts "
        "your Triton kernels and returns the output, or a tuple of the outputs in their order. Kernels in "
        "Triton "
        "do all of the computing: operators of PyTorch may only allocate and make views. The source is a "
        "whole "
        "Python file with its imports of torch and triton.",
    .form = Form::kPython,
    .extension = ".py",
    .comment = "#",
    .on_gpu = true,
    .short_floats = true,
    .also_tasks_of = "cuda",
    .reserved_words = {"False",  "None",   "True",    "and",      "as",       "assert", "async",
                       "await",  "break",  "class",   "continue", "def",      "del",    "elif",
                       "else",   "except", "finally", "for",      "from",     "global", "if",
                       "import", "in",     "is",      "lambda",   "nonlocal", "not",    "or",
                       "pass",   "raise",  "return",  "try",      "while",    "with",   "yield"},
    .compiler_flags = {},
    .newer_flags = {},
    .entry_point = "launch",
    .entry_symbol = "launch",
    .no_entry_words = "the function asked for, launch, is not defined",
    .signature = signature,
};

}  // namespace temper::env
