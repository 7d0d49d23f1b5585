#pragma once
// The cost of a step and, on a known GPU, an estimate of its time.

#include <string>

#include "trainer/plan/plan.h"

namespace temper::trainer {

// `modules`: candidates are modules of PyTorch.
StepCost step_cost(const RunConfig& config, const policy::ModelConfig& shape, const PlanSite& site,
                   bool modules = false);

// The estimated seconds, and what they are estimated from.
std::string estimate_text(const StepCost& step);

}  // namespace temper::trainer
