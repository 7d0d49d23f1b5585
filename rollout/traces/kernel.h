#pragma once
// A whole candidate from a program and the choices of an author.

#include <optional>
#include <string>

#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper::traces {

// The source of the program in the task's language. Empty if none of the style's defects applies to the program.
std::optional<std::string> write_kernel(const Program& program, const Style& style);

}  // namespace temper::traces
