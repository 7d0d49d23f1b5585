// C++ for the CPU: one function over raw buffers, compiled to a shared object.

#include "env/languages/language.h"

namespace temper {
namespace {

constexpr size_t kMaxSourceBytes = 64 << 10;

std::optional<Rejection> gate(const std::string& source) {
  if (source.size() > kMaxSourceBytes) return Rejection{VerdictKind::kFailCompile, "source_too_long"};
  if (source.find('\0') != std::string::npos) return Rejection{VerdictKind::kFailCompile, "nul_byte"};
  if (source.find("kernel") == std::string::npos) return Rejection{VerdictKind::kFailParse, "no_entry_point"};
  return std::nullopt;
}

// The declaration in front makes another signature an error instead of a crash.
std::string translation_unit(const Task& task, const std::string& source) {
  return task.signature() + ";\n#line 1 \"candidate.cc\"\n" + source + "\n";
}

}  // namespace

const Language kCpp{
    .name = "cpp",
    .compiler_flags = {"-O3", "-march=native", "-std=c++17", "-fPIC", "-fopenmp", "-w", "-fmax-errors=5",
                       "-fdiagnostics-color=never"},
    .entry_point = "kernel",
    .gate = gate,
    .translation_unit = translation_unit,
};

}  // namespace temper
