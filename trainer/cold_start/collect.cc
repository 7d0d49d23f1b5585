#include "trainer/cold_start/collect.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "base/error.h"
#include "base/rng.h"
#include "env/verdict/answer.h"
#include "rollout/conversation.h"
#include "rollout/prompt/prompt.h"
#include "rollout/rollout.h"
#include "rollout/traces/unjudged.h"
#include "rollout/trajectory_file.h"
#include "trainer/config/config.h"
#include "trainer/run/interrupted.h"
#include "trainer/run/model.h"

namespace temper::trainer {

using env::Task;
using rollout::ChatExample;
using rollout::Trajectory;

namespace {

constexpr uint64_t kCollectStream = 0xC011;  // keeps these random numbers apart from training's

// An answer that is kept, with what decides its place among its task's.
struct GoodAnswer {
  const Trajectory* trajectory;
  size_t turn;
  int64_t length() const { return trajectory->turns[turn].end - trajectory->turns[turn].begin; }
  double speedup() const { return trajectory->turns[turn].verdict.speedup; }
};

// Whether `a` is kept rather than `b`.
bool better(const CollectOptions& options, const GoodAnswer& a, const GoodAnswer& b) {
  if (options.keep == "fast") return a.speedup() > b.speedup();
  return options.keep == "shortest" && a.length() < b.length();
}

std::optional<GoodAnswer> choose(const CollectOptions& options, const Trajectory& trajectory) {
  std::optional<GoodAnswer> chosen;
  for (size_t i = 0; i < trajectory.turns.size(); ++i) {
    const rollout::Turn& turn = trajectory.turns[i];
    if (!turn.verdict.pass() || !turn.stopped) continue;
    if (turn.verdict.weak() && !options.weak) continue;
    if (options.keep == "fast" && turn.verdict.speedup < options.min_speedup) continue;
    const GoodAnswer answer{&trajectory, i};
    if (!chosen || better(options, answer, *chosen)) chosen = answer;
  }
  return chosen;
}

// As a rollout asks the task.
ChatExample question_of(const rollout::PromptOptions& prompt, const Task& task) {
  ChatExample example{.messages = {}, .task = task.name};
  if (const auto system = rollout::system_prompt(prompt, task))
    example.messages.push_back({"system", *system});
  example.messages.push_back({"user", rollout::task_prompt(prompt, task)});
  return example;
}

ChatExample example_of(const GoodAnswer& answer, const Task& task, const policy::Tokenizer& tokenizer,
                       const rollout::ContextOptions& context, int64_t seed) {
  ChatExample example = question_of(context.prompt, task);
  example.speedup = answer.speedup();
  example.seed = seed;
  const Trajectory& trajectory = *answer.trajectory;
  const rollout::VerdictPrompt verdicts(context.prompt, task);
  std::vector<const env::Verdict*> history;
  for (const rollout::Turn& turn : trajectory.turns) history.push_back(&turn.verdict);
  const policy::ChatFormat format(tokenizer);
  for (const size_t i : rollout::shown_turns(context, trajectory, answer.turn)) {
    const rollout::PastTurn shown =
        rollout::shown_part(context, trajectory, trajectory.turns[i], format, tokenizer);
    example.messages.push_back({"assistant", tokenizer.decode(shown.ids), 0});
    example.messages.push_back({"user", verdicts.text(std::span(history).first(i + 1))});
  }
  const rollout::Turn& last = trajectory.turns[answer.turn];
  example.messages.push_back({"assistant", tokenizer.decode(trajectory.answer_ids(last)), 1});
  return example;
}

bool all_utf8(const ChatExample& example) {
  return std::ranges::all_of(example.messages,
                             [](const rollout::ChatMessage& m) { return rollout::is_utf8(m.content); });
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The end of the comment or literal that begins at `at`; `at` where neither does.
size_t end_of_comment(std::string_view code, size_t at) {
  if (code.substr(at, 2) == "//") return std::min(code.find('\n', at), code.size());
  if (code.substr(at, 2) != "/*") return at;
  const size_t end = code.find("*/", at + 2);
  return end == code.npos ? code.size() : end + 2;
}

size_t end_of_literal(std::string_view code, size_t at) {
  const char quote = code[at];
  if (quote != '"' && quote != '\'') return at;
  for (size_t i = at + 1; i < code.size(); ++i) {
    if (code[i] == '\\')
      ++i;
    else if (code[i] == quote || code[i] == '\n')
      return i + 1;
  }
  return code.size();
}

// Selects the answers of one task, the best first and each code once.
void select_of_task(std::vector<GoodAnswer> answers, const Task& task, const policy::Tokenizer& tokenizer,
                    const CollectOptions& options, int64_t seed, Collected& collected) {
  std::ranges::stable_sort(answers,
                           [&](const GoodAnswer& a, const GoodAnswer& b) { return better(options, a, b); });
  const int64_t most = options.per_task == 0 && options.keep == "shortest" ? 1 : options.per_task;
  std::set<std::string> seen;
  int64_t kept = 0;
  for (const GoodAnswer& answer : answers) {
    ChatExample example = example_of(answer, task, tokenizer, options.context, seed);
    const std::string code =
        normalised_code(env::extract_code(example.messages.back().content, task.language).code);
    if (!all_utf8(example)) {
      ++collected.not_text;
    } else if (!seen.insert(code).second) {
      ++collected.again;
    } else if (most > 0 && kept == most) {
      ++collected.over;
    } else {
      collected.examples.push_back(std::move(example));
      ++kept;
    }
  }
}

}  // namespace

ChatExample trace_example(const traces::Trace& trace, const Task& task, const rollout::PromptOptions& prompt,
                          double repaired_weight) {
  ChatExample example = question_of(prompt, task);
  const rollout::VerdictPrompt verdicts(prompt, task);
  std::vector<const env::Verdict*> history;
  for (size_t i = 0; i < trace.turns.size(); ++i) {
    const bool last = i + 1 == trace.turns.size(), repaired = !last && !trace.turns[i].verdict.pass();
    example.messages.push_back({"assistant", trace.turns[i].answer, repaired ? repaired_weight : 1});
    history.push_back(&trace.turns[i].verdict);
    if (!last) example.messages.push_back({"user", verdicts.text(history)});
  }
  return example;
}

std::string normalised_code(std::string_view code) {
  std::string text;
  bool gap = false;
  for (size_t at = 0; at < code.size();) {
    if (const size_t behind = end_of_comment(code, at); behind > at) {
      gap = true;
      at = behind;
    } else if (std::isspace(static_cast<unsigned char>(code[at]))) {
      // A line that the preprocessor reads ends where it ends.
      if (code[at] == '\n' && text.find('#', text.rfind('\n') + 1) != text.npos) text += '\n';
      gap = true;
      ++at;
    } else {
      if (gap && !text.empty() && is_word(text.back()) && is_word(code[at])) text += ' ';
      if (code[at] == '#' && !text.empty() && text.back() != '\n') text += '\n';
      gap = false;
      const size_t end = std::max(end_of_literal(code, at), at + 1);
      text += code.substr(at, end - at);
      at = end;
    }
  }
  return text;
}

Collected select_examples(const std::vector<Trajectory>& trajectories, const std::vector<Task>& tasks,
                          const policy::Tokenizer& tokenizer, const CollectOptions& options, int64_t seed) {
  Collected collected;
  collected.sampled = std::ssize(trajectories);
  for (auto first = trajectories.begin(); first != trajectories.end();) {
    const auto end =
        std::find_if(first, trajectories.end(), [&](const Trajectory& t) { return t.task != first->task; });
    std::vector<GoodAnswer> answers;
    for (auto t = first; t != end; ++t)
      if (const auto answer = choose(options, *t)) answers.push_back(*answer);
    collected.right += std::ssize(answers);
    select_of_task(std::move(answers), env::find_task(tasks, first->task), tokenizer, options, seed,
                   collected);
    first = end;
  }
  return collected;
}

Collected collect(Model& model, env::Judge& judge, const RunConfig& config, const CollectOptions& options,
                  const std::function<void(int64_t, int64_t)>& progress) {
  const auto tasks = tasks_of_split(judge.tasks(), options.split);
  if (tasks.empty())
    throw ConfigError("--split: no task of split {} in {}", options.split, config.tasks.path);
  rollout::Rollout rollout(model.policy, model.tokenizer, judge, config.rollout,
                           mix_key({uint64_t(config.run.seed), kCollectStream}));
  rollout.stops_when_interrupted = true;
  std::vector<rollout::RolloutRequest> requests;
  for (const Task* task : tasks)
    requests.push_back({task, options.samples > 0 ? options.samples : config.rollout.samples_per_task});
  rollout::Batch batch = rollout.run(0, requests, progress);
  if (any_interrupted(model.policy.ranks())) throw Interrupted();
  std::vector<Trajectory> trajectories;
  rollout::keep(std::move(batch), trajectories);
  CollectOptions as_sampled = options;
  as_sampled.weak = config.tasks.weak == "keep";
  as_sampled.context = config.rollout.context;
  return select_examples(trajectories, judge.tasks(), model.tokenizer, as_sampled, config.run.seed);
}

std::vector<ChatExample> collect_traces(env::Judge& judge, const RunConfig& config,
                                        policy::Communicator& ranks,
                                        const std::function<void(int64_t, int64_t)>& progress) {
  const auto seed = uint64_t(config.run.seed);
  std::vector<traces::Trace> traces = traces::make_traces(config.traces, judge, seed, progress, ranks);
  if (any_interrupted(ranks)) throw Interrupted();
  auto [tasks, unjudged] = traces::make_unjudged_examples(config.traces, judge.tasks(), traces, seed);
  tasks.insert(tasks.end(), judge.tasks().begin(), judge.tasks().end());
  unjudged.insert(unjudged.end(), traces.begin(), traces.end());
  std::map<std::string, const Task*> by_name;
  for (const Task& task : tasks) by_name[task.name] = &task;
  std::vector<ChatExample> examples;
  for (const traces::Trace& trace : unjudged)
    examples.push_back(trace_example(trace, *by_name.at(trace.task), config.rollout.context.prompt,
                                     config.cold_start.repaired_weight));
  return examples;
}

}  // namespace temper::trainer
