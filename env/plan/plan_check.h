#pragma once
// What must hold within a plan beyond the ranges of its single fields.

#include <string>

#include "env/plan/plan.h"

namespace temper::env {

inline constexpr uint8_t kMaxTensorElementType = 12;  // the last CUtensorMapDataType that is not packed

// "" or what is wrong. Each field is within its range.
std::string first_problem(const LaunchPlan& plan);

}  // namespace temper::env
