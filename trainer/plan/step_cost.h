#pragma once
// The cost of a step and, on a known GPU, an estimate of its time.

#include <string>

#include "trainer/plan/plan.h"

namespace temper::trainer {

StepCost step_cost(const RunConfig& config, const policy::ModelConfig& shape, const PlanSite& site);

// The estimated seconds, and what they are estimated from.
std::string estimate_text(const StepCost& step);

}  // namespace temper::trainer
