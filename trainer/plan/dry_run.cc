#include "trainer/plan/dry_run.h"

#include <algorithm>

#include "base/error.h"
#include "env/oracle/reference.h"
#include "policy/hugging_face/folder.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/text/tokenizer.h"
#include "rollout/conversation.h"
#include "rollout/example_turns.h"
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
  constexpr int64_t kMostTurns = 16;
  std::vector<policy::ChatQuestion> questions;
  const rollout::PromptOptions& prompt = config.rollout.context.prompt;
  const rollout::ContextOptions& context = config.rollout.context;
  for (const Task& task : tasks) questions.push_back({rollout::example_conversation(context, task, 0), true});
  // Later turns have the words of verdicts, and a template may do otherwise after so many of them.
  if (!tasks.empty() && config.rollout.turns > 1) {
    for (size_t kind = 0; kind < rollout::example_verdict_names().size(); ++kind)
      questions.push_back({rollout::example_conversation(context, tasks.front(), 1, kind), true});
    for (int64_t answers = 2; answers < std::min(config.rollout.turns, kMostTurns); ++answers)
      questions.push_back({rollout::example_conversation(context, tasks.front(), answers), true});
  }
  const size_t of_rollouts = questions.size();
  if (!tasks.empty())
    rollout::opening_ids(policy::ChatFormat(tokenizer), prompt, tasks.front());  // or throws
  if (!config.cold_start.data.empty())
    read_conversations(config.cold_start.source(), [&](rollout::ChatExample&& example) {
      if (questions.size() == of_rollouts + kMostRows) {
        say_beside(fmt::format(
            "chat: the chat template was tried on the first {} conversations of {}; the others are "
            "written as the layout has it",
            kMostRows, config.cold_start.data));
        return false;
      }
      if (!example.plain()) questions.push_back({messages_of(example), false});
      return true;
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
