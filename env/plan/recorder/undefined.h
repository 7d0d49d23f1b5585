#pragma once
// Functions that a launcher calls and that a plan cannot express.

#include <string_view>

#include "env/plan/gate.h"

namespace temper::env {

// The failure for the first symbol that the loader does not find. Its text says what to do instead.
Finding undefined_symbol(std::string_view name);

}  // namespace temper::env
