#pragma once
// The names that verl, TRL and similar programs use for the options of a run.

#include <span>

#include "base/options.h"

namespace temper::trainer {

std::span<const OtherName> other_names();

}  // namespace temper::trainer
