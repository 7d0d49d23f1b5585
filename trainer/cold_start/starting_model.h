#pragma once
// The model from which a run starts: an existing one, or a new one that was trained on traces.

#include <vector>

#include "env/judge/judge.h"
#include "trainer/config/config.h"
#include "trainer/run/model.h"
#include "trainer/run/run.h"

namespace temper::trainer {

// The shape of the model a run starts from. Errors: ConfigError if model.path's does not fit the run.
policy::ModelConfig starting_shape(const RunConfig& config);

// The tasks that the run's judge must know: the given ones and, if there will be traces, those of the traces.
std::vector<env::Task> tasks_to_judge(const RunConfig& config, const std::vector<env::Task>& tasks);

struct CheckedData {
  int64_t longest = 0;  // tokens of the longest conversation; 0 if the tokenizer does not exist yet
  std::vector<std::string> lines;  // what was found; none without cold_start.data
};

// Reads cold_start.data before anything is begun. Errors: ConfigError naming file and line.
CheckedData check_data(const RunConfig& config, const policy::ModelConfig& shape,
                       policy::Communicator* ranks = nullptr);

// The model with which the run starts. A run that resumes from a checkpoint of a step gets a policy without weights or,
// if the loss holds it near its starting weights, with those. Otherwise it gets the model of model.path or, without a
// path, a random policy with a tokenizer trained on the data of the cold start. The random policy, and that of
// model.path if cold_start.data is given, then goes through the cold start, on that file or on traces; a checkpoint
// within the cold start continues it. The result is saved as checkpoints/cold_start. Errors: ConfigError, WorldError;
// Interrupted, with a checkpoint if it is in the middle of the cold start.
Model starting_model(const RunConfig& config, env::Judge& judge, Run& run);

// Says what the device promises of the log-probs that sampling and training compute.
void say_exactness(policy::Policy& policy, const RunConfig& config);

}  // namespace temper::trainer
