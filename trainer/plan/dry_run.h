#pragma once
// What a start finds out before anything is judged, and so what temper train --dry-run finds out.

#include <string>
#include <vector>

#include "env/task/task.h"
#include "policy/model_config.h"
#include "trainer/config/config.h"

namespace temper {

// Reads the tokenizer, the headers of the weights, and every reference. Where model.path is empty, traces
// must be there to learn from. `weights_here`: false where the plan is for a folder that is not here. Errors:
// ConfigError with what the run would be refused for.
void check_start(const RunConfig& config, const ModelConfig& shape, const std::vector<Task>& tasks,
                 bool weights_here);

}  // namespace temper
