#include "trainer/evaluate/score.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace temper::trainer {

Score score(const RewardOptions& reward_options, const std::vector<const env::Verdict*>& verdicts) {
  Score s;
  double log_speedup = 0, rewards = 0;
  int64_t passed = 0, raw_passed = 0, fast_compiled = 0, fast[kFastCount] = {}, raw_fast[kFastCount] = {};
  int64_t lazy = 0, weak = 0;
  for (const env::Verdict* verdict : verdicts) {
    if (verdict->infra()) {
      ++s.infra;
      continue;
    }
    ++s.samples;
    s.hacks += verdict->hack();
    weak += verdict->weak();
    rewards += turn_total(reward(reward_options, *verdict));
    for (size_t i = 0; i < kFastCount; ++i)
      raw_fast[i] += verdict->raw_pass() && verdict->raw_speedup() > kFastThresholds[i];
    raw_passed += verdict->raw_pass();
    s.compiled += verdict->speedup_compiled.has_value();
    if (!verdict->pass()) continue;
    const double counted = counted_speedup(reward_options, *verdict);
    fast_compiled += verdict->speedup_compiled.value_or(0) * counted > verdict->speedup;
    ++passed;
    if (verdict->profile_share >= 0) {
      ++s.profiled;
      lazy += verdict->profile_share < kLazyShare;
      s.own_share += verdict->profile_share;
    }
    log_speedup += std::log(verdict->speedup);
    for (size_t i = 0; i < kFastCount; ++i) fast[i] += counted > kFastThresholds[i];
  }
  if (s.samples == 0) return s;
  s.correct = double(passed) / double(s.samples);
  s.weak = double(weak) / double(s.samples);
  s.reward = rewards / double(s.samples);
  s.speedup = passed > 0 ? std::exp(log_speedup / double(passed)) : 0;
  s.fast_compiled = double(fast_compiled) / double(s.samples);
  s.raw_correct = double(raw_passed) / double(s.samples);
  if (s.profiled > 0) {
    s.lazy = double(lazy) / double(s.profiled);
    s.own_share /= double(s.profiled);
  }
  for (size_t i = 0; i < kFastCount; ++i) {
    s.fast[i] = double(fast[i]) / double(s.samples);
    s.raw_fast[i] = double(raw_fast[i]) / double(s.samples);
  }
  return s;
}

rollout::Standing standing(const RewardOptions& options, const env::Verdict& verdict) {
  return rollout::standing(verdict, turn_total(reward(options, verdict)));
}

const rollout::Turn& best_turn(const RewardOptions& options, const rollout::Trajectory& trajectory) {
  return *std::ranges::max_element(
      trajectory.turns, {}, [&](const rollout::Turn& turn) { return standing(options, turn.verdict); });
}

std::vector<int64_t> powers_up_to(int64_t most) {
  std::vector<int64_t> powers;
  for (int64_t k = 1; k < most; k *= 2) powers.push_back(k);
  powers.push_back(most);
  return powers;
}

double pass_at(int64_t k, int64_t samples, int64_t correct) {
  TEMPER_CHECK(k > 0 && k <= samples && correct <= samples, "pass@{} of {}", k, samples);
  double none = 1;
  for (int64_t i = 0; i < k; ++i)
    none *= double(std::max<int64_t>(samples - correct - i, 0)) / double(samples - i);
  return 1 - none;
}

void add_metrics(const std::string& prefix, const Score& s, Metrics& metrics) {
  const auto judged = double(s.samples + s.infra);
  metrics[prefix + "/correct"] = s.correct;
  metrics[prefix + "/raw_correct"] = s.raw_correct;
  metrics[prefix + "/reward"] = s.reward;
  metrics[prefix + "/speedup"] = s.speedup;
  for (size_t i = 0; i < kFastCount; ++i) {
    metrics[fmt::format("{}/fast_{}", prefix, kFastThresholds[i])] = s.fast[i];
    metrics[fmt::format("{}/raw_fast_{}", prefix, kFastThresholds[i])] = s.raw_fast[i];
  }
  if (s.compiled > 0) metrics[prefix + "/fast_1_compiled"] = s.fast_compiled;
  if (s.profiled > 0) {
    metrics[prefix + "/lazy"] = s.lazy;
    metrics[prefix + "/own_share"] = s.own_share;
  }
  if (s.weak > 0) metrics[prefix + "/weak"] = s.weak;
  metrics[prefix + "/hacks"] = s.samples > 0 ? double(s.hacks) / double(s.samples) : 0;
  metrics[prefix + "/infra"] = judged > 0 ? double(s.infra) / judged : 0;
}

}  // namespace temper::trainer
