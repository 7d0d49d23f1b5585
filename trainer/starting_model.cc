#include "trainer/starting_model.h"

#include "base/error.h"
#include "policy/parameter_store.h"
#include "rollout/conversation.h"
#include "rollout/traces/unjudged.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/console.h"
#include "trainer/device.h"
#include "trainer/interrupted.h"
#include "trainer/ranks.h"

namespace temper {
namespace {

std::vector<Trace> make_corpus(const RunConfig& config, Judge& judge, Communicator& ranks) {
  auto traces = make_traces(config.traces, judge, uint64_t(config.run.seed), progress_bar("corpus"), ranks);
  if (any_interrupted(ranks)) throw Interrupted();
  int64_t repaired = 0;
  for (const Trace& trace : traces) repaired += !trace.turns.front().verdict.pass();
  say("corpus: {} conversations, {} of them begin with a mistake; every answer judged", traces.size(),
      repaired);
  return traces;
}

std::vector<std::string> texts_of(const std::vector<Trace>& traces, const std::vector<Task>& tasks) {
  std::vector<std::string> texts;
  for (const Task& task : tasks)
    if (task.split != "heldout") texts.push_back(task.prompt());
  for (const Trace& trace : traces)
    for (const TraceTurn& turn : trace.turns) {
      texts.push_back(turn.answer);
      texts.push_back(feedback_text(turn.verdict));
    }
  return texts;
}

Metrics cold_start_metrics(const ColdStartStats& now) {
  return {{"cold_start/loss", now.loss},           {"cold_start/lr", now.lr},
          {"cold_start/grad_norm", now.grad_norm}, {"cold_start/tokens", double(now.tokens)},
          {"cold_start/progress", now.progress},   {"cold_start/throughput", now.tokens_per_s()},
          {"cold_start/seconds", now.seconds}};
}

void cold_start(const RunConfig& config, const std::vector<Task>& tasks, const std::vector<Trace>& traces,
                Model& model, Run& run) {
  // Seen by the cold start alone: what is judged is judged for all.
  auto [all_tasks, all_traces] =
      make_unjudged_examples(config.traces, tasks, traces, uint64_t(config.run.seed));
  if (!all_traces.empty())
    say("corpus: {} answers to as many further tasks, as the grammar writes them, not judged",
        all_traces.size());
  all_tasks.insert(all_tasks.end(), tasks.begin(), tasks.end());
  all_traces.insert(all_traces.end(), traces.begin(), traces.end());
  const auto bar = cold_start_bar();
  const auto record = [&](const ColdStartStats& now) {
    bar(now);
    run.record(now.updates, cold_start_metrics(now));
  };
  const ColdStartStats stats = run_cold_start(model.policy, model.tokenizer, all_tasks, all_traces,
                                              config.cold_start, uint64_t(config.run.seed), record);
  if (stats.left_out > 0)
    say("cold start: {} examples are left out, longer than {} tokens", stats.left_out,
        model.policy.config().max_position_embeddings);
}

}  // namespace

std::vector<Task> tasks_to_judge(const RunConfig& config, const std::vector<Task>& tasks) {
  return config.model.path.empty() ? with_trace_tasks(config.traces, tasks, uint64_t(config.run.seed))
                                   : tasks;
}

void say_exactness(Policy& policy) {
  if (const std::string found = policy.check_exactness(); !found.empty()) say("log-probs: {}", found);
}

ModelConfig starting_shape(const RunConfig& config) {
  if (config.model.path.empty()) return config.model.shape;
  ModelConfig shape = read_model_config(config.model.path);
  if (config.rollout.max_context_tokens > shape.max_position_embeddings)
    throw ConfigError("rollout.max_context_tokens: {} is more than the {} positions of {}",
                      config.rollout.max_context_tokens, shape.max_position_embeddings, config.model.path);
  return shape;
}

Model starting_model(const RunConfig& config, Judge& judge, Run& run) {
  PolicyOptions options = config.model.policy();
  options.ranks = &run.ranks();
  say_model(starting_shape(config), config.model.path.empty(), device_text(options));
  if (const Checkpoint* from = run.checkpoint())
    return config.loss.kl_coefficient > 0 ? load_model(starting_folder(config, from->dir), options)
                                          : empty_model(*from, options);
  if (!config.model.path.empty()) {
    Model model = load_model(config.model.path, options);
    say_exactness(model.policy);
    return model;
  }
  const std::vector<Trace> traces = make_corpus(config, judge, run.ranks());
  Tokenizer tokenizer = Tokenizer::train(texts_of(traces, judge.tasks()), config.model.shape.vocab_size);
  options = with_tokens(options, tokenizer);
  Model model{Policy(config.model.shape, options), std::move(tokenizer)};
  model.policy.parameters().init_random(uint64_t(config.run.seed));
  say_exactness(model.policy);
  cold_start(config, judge.tasks(), traces, model, run);
  run.save_checkpoint("cold_start", model);
  return model;
}

}  // namespace temper
