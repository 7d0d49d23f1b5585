#pragma once
// Where a run starts from: a model that exists, or a new one taught on traces.

#include <vector>

#include "env/judge/judge.h"
#include "trainer/config/config.h"
#include "trainer/run/model.h"
#include "trainer/run/run.h"

namespace temper {

// The shape of the model a run starts from. Errors: ConfigError if model.path's does not fit the run.
ModelConfig starting_shape(const RunConfig& config);

// What the run's judge must know: the tasks, and those of the traces where there will be traces.
std::vector<Task> tasks_to_judge(const RunConfig& config, const std::vector<Task>& tasks);

// Of the file cold_start.data, before anything is begun: what is wrong with it is an error. Returns the tokens of
// its longest conversation; 0: there is no such file, or the tokenizer that would tell is still to be made.
// Errors: ConfigError naming file and line.
int64_t check_data(const RunConfig& config, const ModelConfig& shape);

// Where the run goes on from a checkpoint of a step: the policy still without its weights or, if it is held near
// its starting weights, with those. Else model.path's model or, without a path, a random policy with a tokenizer
// trained on what it will learn from. The latter, and the former where cold_start.data is given, then learn from
// that file or from traces, where a checkpoint within that cold start says so from there on; checkpoints/cold_start
// is what comes out. Errors: ConfigError, WorldError; Interrupted, in the middle of the cold start with a
// checkpoint.
Model starting_model(const RunConfig& config, Judge& judge, Run& run);

// Says what the device promises of the log-probs that sampling and training compute.
void say_exactness(Policy& policy);

}  // namespace temper
