#pragma once
// The styles that a program can be written in.

#include <string>
#include <vector>

#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper::traces {

// The ways to write a program that compute the same; the commonest slow one first.
std::vector<Style> styles(const Program& program);

// One sentence that names the choices of the style, but not its defects.
std::string plan_sentence(const Program& program, const Style& style);

}  // namespace temper::traces
