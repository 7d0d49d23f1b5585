#pragma once
// Evaluations as a manifest keeps them, so that a run's last table is whole.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "trainer/run/console.h"

namespace temper::trainer {

nlohmann::json to_json(const std::vector<NamedEvaluation>& evaluations);
// Errors: nlohmann::json::exception.
std::vector<NamedEvaluation> evaluations_from(const nlohmann::json& json);

}  // namespace temper::trainer
