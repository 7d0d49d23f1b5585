#include "trainer/evaluate/evaluate.h"

#include <algorithm>

#include "base/error.h"
#include "base/process.h"
#include "base/rng.h"
#include "policy/chat/chat_format.h"
#include "policy/ranks/communicator.h"
#include "rollout/trajectory_file.h"
#include "trainer/config/config.h"
#include "trainer/run/interrupted.h"
#include "trainer/run/model.h"

namespace temper::trainer {
namespace {

constexpr uint64_t kEvalStream = 0xE7A1;  // keeps evaluation's random numbers apart from training's

// pass@k for powers of two, over the tasks that have enough samples. INFRA does not count as a sample.
std::map<int64_t, double> pass_at_powers(const rollout::Batch& batch) {
  std::map<int64_t, double> sums;
  std::map<int64_t, int64_t> tasks;
  for (const rollout::Group& group : batch.groups) {
    int64_t samples = 0, correct = 0;
    for (const rollout::Trajectory& t : group.samples) {
      if (t.turns.empty() || t.turns.back().verdict.infra()) continue;
      ++samples;
      correct += t.turns.back().verdict.pass();
    }
    for (int64_t k = 1; samples > 0; k = std::min(2 * k, samples)) {
      sums[k] += pass_at(k, samples, correct);
      ++tasks[k];
      if (k == samples) break;
    }
  }
  for (auto& [k, sum] : sums) sum /= double(tasks[k]);
  return sums;
}

TurnScores turn_scores(const rollout::Batch& batch, const RewardOptions& reward) {
  std::vector<std::vector<const env::Verdict*>> by_turn;
  std::vector<const env::Verdict*> last, best;
  for (const rollout::Group& group : batch.groups)
    for (const rollout::Trajectory& t : group.samples) {
      if (t.turns.empty()) continue;
      by_turn.resize(std::max(by_turn.size(), t.turns.size()));
      for (size_t i = 0; i < t.turns.size(); ++i) by_turn[i].push_back(&t.turns[i].verdict);
      last.push_back(&t.turns.back().verdict);
      best.push_back(&best_turn(reward, t).verdict);
    }
  TurnScores scores{.by_turn = {},
                    .last = score(reward, last),
                    .best = score(reward, best),
                    .pass_at = pass_at_powers(batch),
                    .modules = {}};
  for (const auto& verdicts : by_turn) scores.by_turn.push_back(score(reward, verdicts));
  return scores;
}

void add_metrics(const std::string& prefix, const TurnScores& scores, Metrics& metrics) {
  add_metrics(prefix, scores.last, metrics);
  add_metrics(prefix + "/best", scores.best, metrics);
  add_metrics(prefix, scores.modules, metrics);
  for (const auto& [k, share] : scores.pass_at) metrics[fmt::format("{}/pass@{}", prefix, k)] = share;
  for (size_t i = 0; i < scores.by_turn.size(); ++i)
    add_metrics(fmt::format("{}/turn_{}", prefix, i + 1), scores.by_turn[i], metrics);
}

}  // namespace

std::optional<KernelBenchBaseline> published_baseline(const EvalOptions& options) {
  if (options.kernelbench_baseline.empty()) return std::nullopt;
  return KernelBenchBaseline(options.kernelbench_baseline);
}

std::vector<std::pair<std::string, const std::vector<ModuleAnswer>*>> module_ways(
    const Evaluation& evaluation) {
  return {{"greedy", &evaluation.greedy.modules}, {"sampled", &evaluation.sampled.modules}};
}

Evaluation evaluate(Model& model, env::Judge& judge, const RunConfig& config,
                    std::vector<rollout::Trajectory>* kept,
                    const std::function<void(int64_t, int64_t)>& progress) {
  const double start_s = now_s();
  rollout::RolloutOptions options = config.eval.rollout(config.rollout);
  const auto tasks = tasks_of_split(judge.tasks(), config.eval.split);
  if (tasks.empty())
    throw ConfigError("eval.split: no task of split {} in {}", config.eval.split, config.tasks.path);
  const policy::Communicator& ranks = model.policy.ranks();
  const int64_t per_sample = int64_t(tasks.size()) * options.turns;
  const int64_t total = per_sample * (config.eval.samples + 1);
  const auto published = published_baseline(config.eval);

  const auto roll_out = [&](double temperature, int64_t samples, int64_t done_before) {
    options.temperature = temperature;
    rollout::Rollout rollout(model.policy, model.tokenizer, judge, options,
                             mix_key({uint64_t(config.run.seed), kEvalStream}));
    rollout.stops_when_interrupted = true;
    std::vector<rollout::RolloutRequest> requests;
    for (const env::Task* task : tasks) requests.push_back({task, samples});
    int64_t told = 0;
    const auto tell = [&](int64_t done) {
      if (progress && std::exchange(told, done) != done) progress(done_before + done, total);
    };
    rollout::Batch batch = rollout.run(0, requests, [&](int64_t done, int64_t) {
      tell(std::min(done * ranks.size(), per_sample * samples));
    });
    if (any_interrupted(model.policy.ranks())) throw Interrupted();
    if (ranks.size() > 1) tell(per_sample * samples);  // other ranks' parts may be longer than ours
    TurnScores scores = turn_scores(batch, config.reward);
    scores.modules = module_answers(judge.tasks(), batch, model.tokenizer,
                                    policy::ChatFormat(model.tokenizer).opens_reasoning());
    if (published)
      for (ModuleAnswer& answer : scores.modules)
        answer.published = published->find(answer.problem.level, answer.problem.file);
    if (kept && ranks.rank() == 0) rollout::keep(std::move(batch), *kept);
    return scores;
  };
  Evaluation evaluation;
  evaluation.sampled = roll_out(config.rollout.temperature, config.eval.samples, 0);
  evaluation.greedy = roll_out(0, 1, per_sample * config.eval.samples);
  evaluation.seconds = now_s() - start_s;
  return evaluation;
}

void add_metrics(const Evaluation& evaluation, Metrics& metrics) {
  add_metrics("val/sampled", evaluation.sampled, metrics);
  add_metrics("val/greedy", evaluation.greedy, metrics);
  metrics["timing_s/testing"] = evaluation.seconds;
}

}  // namespace temper::trainer
