#include "trainer/cold_start/starting_model.h"

#include <map>

#include "base/error.h"
#include "policy/parameters/parameter_store.h"
#include "rollout/conversation.h"
#include "rollout/prompt/prompt.h"
#include "rollout/traces/unjudged.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/cold_start/cold_start_saver.h"
#include "trainer/cold_start/data_rows.h"
#include "trainer/config/device.h"
#include "trainer/run/console.h"
#include "trainer/run/interrupted.h"
#include "trainer/run/lost_bytes.h"

namespace temper::trainer {

using env::Judge;
using env::Task;
using policy::Tokenizer;
using traces::Trace;

namespace {

std::vector<Trace> make_corpus(const RunConfig& config, Judge& judge, policy::Communicator& ranks) {
  auto traces =
      traces::make_traces(config.traces, judge, uint64_t(config.run.seed), progress_bar("corpus"), ranks);
  if (any_interrupted(ranks)) throw Interrupted();
  int64_t repaired = 0;
  for (const Trace& trace : traces) repaired += !trace.turns.front().verdict.pass();
  say("corpus: {} conversations, {} of them begin with a mistake; every answer judged", traces.size(),
      repaired);
  return traces;
}

// What a new tokenizer is trained on.
std::vector<std::string> learned_texts(const RunConfig& config, const std::vector<Trace>& traces,
                                       const std::vector<Task>& tasks) {
  const rollout::PromptOptions& prompt = config.rollout.context.prompt;
  std::vector<std::string> texts;
  std::map<std::string, rollout::VerdictPrompt> verdicts;
  for (const Task& task : tasks) {
    verdicts.try_emplace(task.name, prompt, task);
    if (task.held_out()) continue;
    if (const auto system = rollout::system_prompt(prompt, task)) texts.push_back(*system);
    texts.push_back(rollout::task_prompt(prompt, task));
  }
  for (const Trace& trace : traces) {
    std::vector<const env::Verdict*> history;
    for (const traces::TraceTurn& turn : trace.turns) {
      history.push_back(&turn.verdict);
      texts.push_back(turn.answer);
      texts.push_back(verdicts.at(trace.task).text(history));
    }
  }
  if (!config.cold_start.data.empty())
    read_conversations(config.cold_start.source(), [&](rollout::ChatExample&& example) {
      for (rollout::ChatMessage& message : example.messages) texts.push_back(std::move(message.content));
      return true;
    });
  return texts;
}

Model new_model(const RunConfig& config, const std::vector<std::string>& texts,
                const policy::PolicyOptions& options) {
  Tokenizer tokenizer = Tokenizer::train(texts, config.model.shape.vocab_size);
  Model model{policy::Policy(config.model.shape, with_tokens(options, tokenizer)), std::move(tokenizer)};
  model.policy.parameters().init_random(uint64_t(config.run.seed));
  return model;
}

Metrics cold_start_metrics(const ColdStartStats& now) {
  return {{"cold_start/loss", now.loss},           {"cold_start/lr", now.lr},
          {"cold_start/grad_norm", now.grad_norm}, {"cold_start/tokens", double(now.tokens)},
          {"cold_start/progress", now.progress},   {"cold_start/throughput", now.tokens_per_s()},
          {"cold_start/seconds", now.seconds}};
}

// The judged traces, and those that the cold start alone sees: what is judged is judged for all.
LearnedRows rows_of_all_traces(const RunConfig& config, const std::vector<Task>& tasks,
                               const std::vector<Trace>& traces, const Tokenizer& tokenizer,
                               int64_t max_tokens) {
  auto [all_tasks, all_traces] =
      traces::make_unjudged_examples(config.traces, tasks, traces, uint64_t(config.run.seed));
  if (!all_traces.empty())
    say("corpus: {} answers to as many further tasks, as the grammar writes them, not judged",
        all_traces.size());
  all_tasks.insert(all_tasks.end(), tasks.begin(), tasks.end());
  all_traces.insert(all_traces.end(), traces.begin(), traces.end());
  LearnedRows rows = rows_of_traces(all_traces, all_tasks, tokenizer,
                                    {.repaired_weight = config.cold_start.repaired_weight,
                                     .max_tokens = max_tokens,
                                     .context = config.rollout.context});
  if (rows.left_out > 0)
    say("cold start: {} examples are left out, longer than {} tokens", rows.left_out, max_tokens);
  return rows;
}

LearnedRows rows_of_file(const RunConfig& config, const Tokenizer& tokenizer, int64_t max_tokens) {
  DataRows data = rows_of_data(config.cold_start.source(), tokenizer, max_tokens);
  say("data: {}", data.facts.line(config.cold_start.data, data.learned.left_out, max_tokens));
  return std::move(data.learned);
}

// Of the conversations of a file, or else of traces.
LearnedRows rows_of(const RunConfig& config, const std::vector<Trace>& traces, const std::vector<Task>& tasks,
                    const Model& model) {
  const int64_t max_tokens = longest_row(config.cold_start, model.policy.config());
  const LostBytes lost(model.tokenizer);
  LearnedRows rows = config.cold_start.data.empty()
                         ? rows_of_all_traces(config, tasks, traces, model.tokenizer, max_tokens)
                         : rows_of_file(config, model.tokenizer, max_tokens);
  lost.say("the conversations of the cold start");
  return rows;
}

// The state of the cold start at the run's checkpoint, if it has one. The model is restored to that state.
ColdStartStats take_up(const Run& run, const RunConfig& config, const std::string& examples) {
  if (!run.checkpoint()) return {};
  if (run.checkpoint()->manifest.cold_start->examples != examples)
    throw ConfigError("{}: the cold start's examples are others than before the stop ({}); {}",
                      run.checkpoint()->dir.string(),
                      config.cold_start.data.empty() ? "verdicts differ" : config.cold_start.data, kWayOut);
  return place_of(*run.checkpoint());
}

void cold_start(const RunConfig& config, const LearnedRows& rows, Model& model, Judge& judge, Run& run) {
  const std::string examples = rows.digest();
  const ColdStartStats from = take_up(run, config, examples);
  ColdStartSaver saver(config, model, judge, run, examples);
  const auto bar = cold_start_bar();
  const auto record = [&](const ColdStartStats& now) {
    bar(now);
    run.record(now.updates, cold_start_metrics(now));
    saver.update(now);
  };
  const ColdStartStats stats =
      run_cold_start(model.policy, rows.rows, config.cold_start, uint64_t(config.run.seed), from, record);
  if (!stats.interrupted && stats.updates < stats.total_updates)
    say("cold start: ended by cold_start.max_seconds={} after {} of {} updates, at a loss of {:.3f}",
        config.cold_start.max_seconds, stats.updates, stats.total_updates, stats.loss);
  if (!stats.interrupted) return saver.finish();
  if (saver.interrupt(stats)) throw Interrupted{"the same command resumes the cold start"};
  throw Interrupted();
}

// A checkpoint has the template with which the run began among its files.
void say_other_template(const RunConfig& config, const Tokenizer& tokenizer) {
  if (!config.model.path.empty() && config.model.chat_format == "auto" &&
      policy::has_other_template(config.model.path, tokenizer))
    say("chat: the chat template of {} is another one than the one with which the run began; conversations "
        "stay as they were",
        config.model.path);
}

}  // namespace

std::vector<Task> tasks_to_judge(const RunConfig& config, const std::vector<Task>& tasks) {
  return config.model.path.empty() ? traces::with_trace_tasks(config.traces, tasks, uint64_t(config.run.seed))
                                   : tasks;
}

void say_exactness(policy::Policy& policy, const RunConfig& config) {
  if (const std::string found = policy.check_exactness(config.learner.share_prompts); !found.empty())
    say("log-probs: {}", found);
}

policy::ModelConfig starting_shape(const RunConfig& config) {
  if (config.model.path.empty()) return config.model.shape;
  policy::ModelConfig shape = policy::read_model_config(config.model.path);
  if (config.rollout.max_context_tokens > shape.max_position_embeddings)
    throw ConfigError("rollout.max_context_tokens: {} is more than the {} positions of {}",
                      config.rollout.max_context_tokens, shape.max_position_embeddings, config.model.path);
  return shape;
}

Model starting_model(const RunConfig& config, Judge& judge, Run& run) {
  policy::PolicyOptions options = config.model.policy();
  options.ranks = &run.ranks();
  const policy::ChatSource chat = config.model.chat();
  say_model(starting_shape(config), config.model.path.empty(), device_text(options));
  const Checkpoint* from = run.checkpoint();
  const auto decide = [&](Tokenizer& tokenizer) {
    decide_chat(tokenizer, chat, options.ranks);
    if (run.ranks().rank() == 0) say_other_template(config, tokenizer);
  };
  const auto empty = [&] {
    Model model = empty_model(*from, options);
    decide(model.tokenizer);
    return model;
  };
  if (from && !from->manifest.cold_start) {
    if (config.loss.kl_coefficient == 0) return empty();
    // The weights are those that the policy is held near; its own follow.
    Model model = load_model(starting_folder(config, from->dir), options);
    model.tokenizer = tokenizer_of(*from);
    decide(model.tokenizer);
    check_learnable(model.not_finite, config.model.allow_not_finite);
    return model;
  }
  if (!config.has_cold_start()) {
    Model model = load_model(config.model.path, options, &chat);
    check_learnable(model.not_finite, config.model.allow_not_finite);
    say_exactness(model.policy, config);
    return model;
  }
  std::vector<Trace> traces;
  if (config.cold_start.data.empty()) traces = make_corpus(config, judge, run.ranks());
  Model model = from ? empty()
                : config.model.path.empty()
                    ? new_model(config, learned_texts(config, traces, judge.tasks()), options)
                    : load_model(config.model.path, options, &chat);
  if (from) model.not_finite = restore_policy(*from, model.policy);
  check_learnable(model.not_finite, config.model.allow_not_finite);
  say_exactness(model.policy, config);
  cold_start(config, rows_of(config, traces, judge.tasks(), model), model, judge, run);
  run.save_checkpoint("cold_start", model);
  return model;
}

CheckedData check_data(const RunConfig& config, const policy::ModelConfig& shape,
                       policy::Communicator* ranks) {
  if (config.cold_start.data.empty()) return {};
  const ConversationSource source = config.cold_start.source();
  const int64_t max_tokens = longest_row(config.cold_start, shape);
  DataRows data;
  if (config.model.path.empty()) {
    data.facts = read_conversations(source, [](rollout::ChatExample&&) { return true; });
  } else {
    Tokenizer tokenizer = Tokenizer::load(config.model.path);
    decide_chat(tokenizer, config.model.chat(), ranks);
    data = rows_of_data(source, tokenizer, max_tokens, false);
  }
  return {data.longest,
          {"data: " + data.facts.line(source.path, data.learned.left_out, max_tokens),
           "data: " + data.facts.first_line()}};
}

}  // namespace temper::trainer
