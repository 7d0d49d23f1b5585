#pragma once
// Shapes of published models by the name of their folder: what a plan needs where the weights are not here.

#include <optional>
#include <string>
#include <vector>

#include "policy/model_config.h"
#include "trainer/config/config.h"

namespace temper::trainer {

std::vector<std::string> published_names();
std::optional<policy::ModelConfig> published_shape(const std::string& name);

// The shape for which a plan is made: that of model.path's config.json, or the published one with the folder's name,
// or that of a new policy. Errors: ConfigError naming the published ones, or those of starting_shape.
policy::ModelConfig planned_shape(const RunConfig& config);

}  // namespace temper::trainer
