#pragma once
// What a launcher calls and a plan does not have.

#include <string_view>

#include "env/plan/gate.h"

namespace temper {

// Of the first symbol that the loader does not find: says what to do instead.
PlanFailure undefined_symbol(std::string_view name);

}  // namespace temper
