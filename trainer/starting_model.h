#pragma once
// Where a run starts from: a model that exists, or a new one taught on traces.

#include <vector>

#include "env/judge.h"
#include "trainer/config.h"
#include "trainer/model.h"
#include "trainer/run.h"

namespace temper {

// The shape of the model a run starts from. Errors: ConfigError if model.path's does not fit the run.
ModelConfig starting_shape(const RunConfig& config);

// What the run's judge must know: the tasks, and those of the traces where there will be traces.
std::vector<Task> tasks_to_judge(const RunConfig& config, const std::vector<Task>& tasks);

// Where the run goes on from a checkpoint: the policy still without its weights or, if it is held near its
// starting weights, with those. Else model.path's model as it is. Without a path: traces, a tokenizer trained
// on them, a random policy, the cold start, and checkpoints/cold_start. Errors: ConfigError, WorldError;
// Interrupted before there is anything to keep.
Model starting_model(const RunConfig& config, Judge& judge, Run& run);

// Says what the device promises of the log-probs that sampling and training compute.
void say_exactness(Policy& policy);

}  // namespace temper
