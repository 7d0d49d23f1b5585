// C++ for the CPU: one function over raw buffers, compiled to a shared object.

#include "env/languages/language.h"

namespace temper {
namespace {

// The declaration in front makes another signature an error instead of a crash.
std::string translation_unit(const Task& task, const std::string& source) {
  return task.signature() + ";\n#line 1 \"candidate.cc\"\n" + source + "\n";
}

}  // namespace

const Language kCpp{
    .name = "cpp",
    .compiler_flags = {"-O3", "-march=native", "-std=c++17", "-fPIC", "-fopenmp", "-w", "-fmax-errors=20",
                       "-fdiagnostics-color=never"},
    .entry_point = "kernel",
    .translation_unit = translation_unit,
};

}  // namespace temper
