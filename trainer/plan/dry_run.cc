#include "trainer/plan/dry_run.h"

#include "base/error.h"
#include "env/oracle/reference.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/text/chat_format.h"
#include "policy/text/tokenizer.h"
#include "rollout/traces/recipe.h"
#include "trainer/checkpoint/restore.h"

namespace temper::trainer {

using env::Task;

namespace {

void check_model(const RunConfig& config, const policy::ModelConfig& shape) {
  const std::filesystem::path dir = config.model.path;
  if (is_checkpoint(dir)) check_checkpoint(dir);
  policy::check_model_folder(dir);
  policy::Tokenizer tokenizer = policy::Tokenizer::load(dir);
  tokenizer.chat_format = config.model.chat_format;
  const policy::ChatFormat known(tokenizer);
  policy::check_tokenizer_fits(tokenizer, shape);
  policy::read_origin(dir);
  if (!is_checkpoint(dir)) policy::check_weights(dir, shape);
}

// The cold start of a new policy learns from traces of train tasks, and so does its tokenizer.
void check_traces(const RunConfig& config, const std::vector<Task>& tasks) {
  const std::vector<const Task*> train = tasks_of_split(tasks, env::Split::kTrain);
  if (train.empty())
    throw ConfigError("tasks.path: no task of {} is train; a new policy has nothing to be taught on",
                      config.tasks.path);
  for (const Task* task : train)
    if (!traces::write_recipe(*task, uint64_t(config.run.seed)).variants.empty()) return;
  throw ConfigError(
      "tasks.path: traces can be written for none of the {} train tasks of {}, so that a new policy has "
      "nothing to be taught on; name a model.path",
      train.size(), config.tasks.path);
}

}  // namespace

void check_start(const RunConfig& config, const policy::ModelConfig& shape, const std::vector<Task>& tasks,
                 bool weights_here) {
  if (config.model.path.empty() && config.cold_start.data.empty()) check_traces(config, tasks);
  if (!config.model.path.empty() && weights_here) check_model(config, shape);
  for (const Task& task : tasks)
    if (!task.module) const env::Reference compiled(task);
}

}  // namespace temper::trainer
