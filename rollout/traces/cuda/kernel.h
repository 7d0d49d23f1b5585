#pragma once
// A whole CUDA candidate, kernels and launcher, from a program and the choices of an author.

#include <optional>
#include <string>
#include <vector>

#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper {

// CUDA C++ source. Nothing where none of the style's defects has a place in this program.
std::optional<std::string> write_cuda_kernel(const Program& program, const Style& style);

// The ways to write a program that compute the same; the commonest slow one first.
std::vector<Style> cuda_styles(const Program& program);

// What the plan sentence says of a style.
std::string cuda_words(const Program& program, const Style& style);

}  // namespace temper
