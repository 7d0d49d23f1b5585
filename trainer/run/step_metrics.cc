#include "trainer/run/step_metrics.h"

#include <algorithm>
#include <cmath>

#include "trainer/evaluate/score.h"

namespace temper::trainer {
namespace {

// Mean, largest and smallest of a list; nothing where it is empty.
void add_spread(const std::string& name, const std::vector<double>& values, Metrics& metrics) {
  if (values.empty()) return;
  double sum = 0;
  for (const double v : values) sum += v;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  metrics[name + "/mean"] = sum / double(values.size());
  metrics[name + "/max"] = *high;
  metrics[name + "/min"] = *low;
}

double deviation_of(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double v : values) sum += v;
  for (const double v : values)
    squares += (v - sum / double(values.size())) * (v - sum / double(values.size()));
  return std::sqrt(squares / double(values.size()));
}

std::vector<double> kept_totals(const TurnValues& values) {
  std::vector<double> totals;
  for (const GroupValues& group : values)
    for (const SampleValues& sample : group)
      for (const TurnValue& turn : sample)
        if (turn.kept) totals.push_back(turn_total(turn));
  return totals;
}

void add_lengths(const rollout::Batch& batch, Metrics& metrics) {
  std::vector<double> responses, prompts, turns;
  double cut = 0;
  for (const rollout::Group& group : batch.groups)
    for (const rollout::Trajectory& t : group.samples) {
      turns.push_back(double(t.turns.size()));
      for (const rollout::Turn& turn : t.turns) {
        responses.push_back(turn.end - turn.begin);
        prompts.push_back(turn.begin);
        cut += !turn.stopped;
      }
    }
  add_spread("response_length", responses, metrics);
  add_spread("prompt_length", prompts, metrics);
  add_spread("num_turns", turns, metrics);
  if (!responses.empty()) metrics["response_length/clip_ratio"] = cut / double(responses.size());
}

void add_env(const StepRecord& step, Metrics& metrics) {
  std::vector<const env::Verdict*> all;
  std::vector<std::vector<const env::Verdict*>> by_turn;
  for (const rollout::Group& group : step.batch.groups)
    for (const rollout::Trajectory& t : group.samples)
      for (size_t i = 0; i < t.turns.size(); ++i) {
        by_turn.resize(std::max(by_turn.size(), i + 1));
        by_turn[i].push_back(&t.turns[i].verdict);
        all.push_back(&t.turns[i].verdict);
      }
  add_metrics("env", score(step.reward, all), metrics);
  for (size_t i = 0; i < by_turn.size(); ++i)
    add_metrics(fmt::format("env/turn_{}", i + 1), score(step.reward, by_turn[i]), metrics);
  for (const env::Verdict* verdict : all)
    metrics[fmt::format("env/verdict/{}", env::to_string(verdict->kind))] += 1 / double(all.size());
  metrics["env/again"] = double(step.rollout.again);
  metrics["env/overturned"] = double(step.rollout.overturned);
  metrics["env/cached"] =
      step.rollout.judged > 0 ? double(step.rollout.cached) / double(step.rollout.judged) : 0;
}

void add_groups(const TurnValues& returns, Metrics& metrics) {
  const auto flat =
      std::count_if(returns.begin(), returns.end(), [](const auto& g) { return !has_signal(g); });
  metrics["env/frac_zero_std"] = returns.empty() ? 0 : double(flat) / double(returns.size());
}

void add_learned(const LearnStats& learned, const RejectionStats& rejected, Metrics& metrics) {
  metrics["actor/pg_loss"] = learned.loss;
  metrics["actor/entropy"] = learned.entropy;
  metrics["actor/pg_clipfrac"] = learned.clip_fraction;
  metrics["actor/ppo_kl"] = learned.approx_kl;
  metrics["actor/kl_loss"] = learned.reference_kl;
  metrics["actor/ratio_mean"] = learned.ratio_mean;
  metrics["actor/ratio_max"] = learned.ratio_max;
  metrics["actor/grad_norm"] = learned.grad_norm;
  metrics["actor/lr"] = learned.lr;
  metrics["actor/updates"] = double(learned.updates);
  metrics["actor/skipped_updates"] = double(learned.skipped_updates);
  metrics["actor/idle_rows"] = double(learned.idle_rows);
  metrics["actor/scored_tokens"] = double(learned.scored_tokens);
  metrics["actor/left_out_tokens"] = double(learned.left_out);
  metrics["rollout_corr/kl"] = learned.rollout_kl;
  metrics["rollout_corr/max_abs_log_diff"] = learned.rollout_max_abs_log_diff;
  metrics["rollout_corr/unequal_tokens"] = double(learned.rollout_unequal);
  metrics["rollout_corr/rejected"] = double(rejected.mismatch);
  metrics["rollout_corr/vetoed"] = double(rejected.vetoed);
  metrics["env/profile_rejected"] = double(rejected.profile);
}

void add_times(const StepRecord& step, Metrics& metrics) {
  metrics["timing_s/gen"] = step.rollout.generate_s;
  metrics["timing_s/reward"] = step.rollout.wait_s;
  metrics["timing_s/update_actor"] = step.learned.seconds;
  metrics["timing_s/hand_over"] = step.learned.hand_over_s + step.rollout.cache_s;
  metrics["timing_s/step"] = step.seconds;
  metrics["perf/total_num_tokens"] = double(step.learned.packed_tokens);
  metrics["perf/generated_tokens"] = double(step.rollout.tokens);
  if (step.rollout.generate_s > 0)
    metrics["perf/gen_throughput"] = double(step.rollout.tokens) / step.rollout.generate_s;
  if (step.seconds > 0) metrics["perf/throughput"] = double(step.learned.packed_tokens) / step.seconds;
}

}  // namespace

Metrics step_metrics(const StepRecord& step) {
  Metrics metrics;
  add_spread("critic/rewards", kept_totals(step.rewards), metrics);
  add_spread("critic/returns", kept_totals(step.returns), metrics);
  const std::vector<double> advantages = kept_totals(step.advantages);
  add_spread("critic/advantages", advantages, metrics);
  if (!advantages.empty()) metrics["critic/advantages/std"] = deviation_of(advantages);
  add_lengths(step.batch, metrics);
  add_env(step, metrics);
  add_groups(step.returns, metrics);
  add_learned(step.learned, step.rejected, metrics);
  add_times(step, metrics);
  return metrics;
}

}  // namespace temper::trainer
