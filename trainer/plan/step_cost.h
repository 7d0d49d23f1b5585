#pragma once
// What a step costs, and on a GPU that is known about how long it takes.

#include <string>

#include "trainer/plan/plan.h"

namespace temper {

StepCost step_cost(const RunConfig& config, const ModelConfig& shape, const PlanSite& site);

// The estimated seconds, and what they are estimated from.
std::string estimate_text(const StepCost& step);

}  // namespace temper
