#include "trainer/plan/dry_run.h"

#include "base/error.h"
#include "env/oracle/reference.h"
#include "policy/hugging_face/folder.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/text/tokenizer.h"
#include "rollout/conversation.h"
#include "rollout/prompt/prompt.h"
#include "rollout/traces/recipe.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/cold_start/learned_rows.h"
#include "trainer/run/model.h"
#include "trainer/run/terminal.h"

namespace temper::trainer {

using env::Task;

namespace {

// The template of a stranger's model is asked for what this run will write: tasks, and the first rows of its data.
void try_conversations(const RunConfig& config, const std::vector<Task>& tasks,
                       policy::Tokenizer& tokenizer) {
  constexpr size_t kMostRows = 1000;
  std::vector<policy::ChatQuestion> questions;
  const rollout::PromptOptions& prompt = config.rollout.context.prompt;
  for (const Task& task : tasks) {
    policy::ChatQuestion question{{}, true};
    if (const auto system = rollout::system_prompt(prompt, task))
      question.messages.push_back({"system", *system});
    question.messages.push_back({"user", rollout::task_prompt(prompt, task)});
    questions.push_back(std::move(question));
  }
  if (!tasks.empty())
    rollout::opening_ids(policy::ChatFormat(tokenizer), prompt, tasks.front());  // or throws
  if (!config.cold_start.data.empty())
    read_conversations(config.cold_start.source(), [&](rollout::ChatExample&& example) {
      if (!example.plain()) questions.push_back({messages_of(example), false});
      return questions.size() < tasks.size() + kMostRows;
    });
  for (const std::string& line : policy::try_chat(tokenizer, config.model.chat(), questions))
    say_beside(line);
}

void check_model(const RunConfig& config, const policy::ModelConfig& shape, const std::vector<Task>& tasks) {
  const std::filesystem::path dir = config.model.path;
  if (is_checkpoint(dir)) check_checkpoint(dir);
  policy::check_model_folder(dir);
  policy::Tokenizer tokenizer = policy::Tokenizer::load(dir);
  decide_chat(tokenizer, config.model.chat());
  try_conversations(config, tasks, tokenizer);
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
  if (!config.model.path.empty() && weights_here) check_model(config, shape, tasks);
  for (const Task& task : tasks)
    if (!task.module) const env::Reference compiled(task);
}

}  // namespace temper::trainer
