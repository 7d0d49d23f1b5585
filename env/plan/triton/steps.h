#pragma once
// The plans in the JSON of a Triton candidate's reply.

#include <nlohmann/json_fwd.hpp>

#include "env/plan/plan.h"

namespace temper::env {

// One plan, each number of which fits its field. What fits together is for parse_plan and check_plan to say.
// Errors: ConfigError naming the field that is wrong.
LaunchPlan plan_from_json(const nlohmann::json& json);

}  // namespace temper::env
