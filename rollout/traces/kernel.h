#pragma once
// A whole candidate from a program and the choices of an author.

#include <optional>
#include <string>

#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper {

// Source in the task's language. Nothing where none of the style's defects has a place in this program.
std::optional<std::string> write_kernel(const Program& program, const Style& style);

}  // namespace temper
