#pragma once
// A whole Triton candidate, kernels and launcher, from a program and the choices of an author.

#include <optional>
#include <string>
#include <vector>

#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper::traces {

// The Python source of the program in this style. Empty if none of the style's defects applies to the program.
std::optional<std::string> write_triton_kernel(const Program& program, const Style& style);

// The ways to write a program that compute the same; the commonest slow one first.
std::vector<Style> triton_styles(const Program& program);

// The part of the plan sentence that describes a style.
std::string triton_words(const Program& program, const Style& style);

}  // namespace temper::traces
