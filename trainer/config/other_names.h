#pragma once
// What verl, TRL and their neighbours call the options of a run.

#include <span>

#include "base/options.h"

namespace temper {

std::span<const OtherName> other_names();

}  // namespace temper
