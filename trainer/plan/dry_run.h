#pragma once
// The checks of a start before anything is judged, which are also those of temper train --dry-run.

#include <string>
#include <vector>

#include "env/task/task.h"
#include "policy/model_config.h"
#include "trainer/config/config.h"

namespace temper::trainer {

// Reads the tokenizer, the headers of the weights, and every reference. If model.path is empty, there must be traces
// to learn from. `weights_here` is false if the plan is for a model folder that does not exist here. Errors:
// ConfigError with the reason for which the run would be refused.
void check_start(const RunConfig& config, const policy::ModelConfig& shape,
                 const std::vector<env::Task>& tasks, bool weights_here);

}  // namespace temper::trainer
