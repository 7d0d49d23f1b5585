// C++ for the CPU: one function over raw buffers, compiled to a shared object.
//
// The entry point is whatever can be called by the name `kernel` with the task's buffers and sizes: it may be
// noexcept, inline, constexpr, a template, take sizes as long or buffers without const, and lack extern "C".

#include <fmt/ranges.h>

#include "env/languages/language.h"

namespace temper::env {
namespace {

// What the entry point is called with, by type. Inputs have no const: a pointer without one becomes either.
std::vector<std::string> argument_types(const std::vector<CallParameter>& parameters) {
  std::vector<std::string> types;
  for (const CallParameter& one : parameters)
    types.push_back(one.type + (one.role == CallParameter::Role::kSize ? "" : "*"));
  return types;
}

std::string signature(const std::vector<CallParameter>& parameters) {
  return c_signature(kCpp.entry_point, parameters);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '"' ? std::string("\\\"") : std::string(1, c);
  return result;
}

// The runner calls a function of ours that calls the candidate's, so that the compiler knows how. Another
// signature is an error instead of a crash; what follows the source is on lines of its own "file".
std::string translation_unit(const std::vector<CallParameter>& asked, const std::string& source) {
  const std::vector<std::string> types = argument_types(asked);
  std::vector<std::string> parameters, arguments;
  for (const std::string& type : types) {
    arguments.push_back(fmt::format("temper_{}", arguments.size()));
    parameters.push_back(type + " " + arguments.back());
  }
  std::string unit = "#define restrict __restrict__\n#line 1 \"candidate.cc\"\n" + source + "\n\n";
  unit += "#line 1 \"entry_point\"\n";
  unit += "template <class... T> constexpr bool temper_calls = requires(T... t) { kernel(t...); };\n";
  unit += fmt::format("static_assert(temper_calls<{}>, \"the function must be: {}\");\n",
                      fmt::join(types, ", "), escaped(signature(asked)));
  unit += fmt::format("extern \"C\" __attribute__((visibility(\"default\"))) void {}({}) {{ kernel({}); }}\n",
                      kCpp.entry_symbol, fmt::join(parameters, ", "), fmt::join(arguments, ", "));
  return unit;
}

}  // namespace

const Language kCpp{
    .name = "cpp",
    .fence_words = {"cpp", "c++", "cxx", "cc", "c", "h", "hpp"},
    .title = "C++",
    .calling =
        "The pointers are to dense row-major arrays in host memory. The function writes every element of the "
        "outputs and changes no input. The source is C++20 and includes all headers that it uses. It may "
        "start "
        "neither threads nor processes.",
    .form = Form::kObject,
    .extension = ".cc",
    // Headers take twice as long to compile as C++20.
    .compiler_flags = {"-O3", "-march=native", "-std=c++17", "-fconcepts", "-fPIC", "-fopenmp", "-w",
                       "-fmax-errors=20", "-fdiagnostics-color=never"},
    .newer_flags = {"-std=c++20"},
    .entry_point = "kernel",
    .entry_symbol = "temper_kernel",
    .signature = signature,
    .translation_unit = translation_unit,
};

}  // namespace temper::env
