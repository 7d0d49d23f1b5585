#pragma once
// A whole CUDA candidate, kernels and launcher, from a program and the choices of an author.

#include <optional>
#include <string>
#include <vector>

#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper::traces {

// The CUDA C++ source of the program in this style. Empty if none of the style's defects applies to the program.
std::optional<std::string> write_cuda_kernel(const Program& program, const Style& style);

// The ways to write a program that compute the same; the commonest slow one first.
std::vector<Style> cuda_styles(const Program& program);

// The part of the plan sentence that describes a style.
std::string cuda_words(const Program& program, const Style& style);

}  // namespace temper::traces
