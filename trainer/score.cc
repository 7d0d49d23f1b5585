#include "trainer/score.h"

#include <cmath>

namespace temper {

Score score(const RewardOptions& reward_options, const std::vector<const Verdict*>& verdicts) {
  Score s;
  double log_speedup = 0, rewards = 0;
  int64_t passed = 0, fast[kFastCount] = {};
  for (const Verdict* verdict : verdicts) {
    if (verdict->infra()) {
      ++s.infra;
      continue;
    }
    ++s.samples;
    s.hacks += verdict->hack();
    rewards += turn_total(reward(reward_options, *verdict));
    if (!verdict->pass()) continue;
    ++passed;
    log_speedup += std::log(verdict->speedup);
    for (size_t i = 0; i < kFastCount; ++i) fast[i] += verdict->speedup > kFastThresholds[i];
  }
  if (s.samples == 0) return s;
  s.correct = double(passed) / double(s.samples);
  s.reward = rewards / double(s.samples);
  s.speedup = passed > 0 ? std::exp(log_speedup / double(passed)) : 0;
  for (size_t i = 0; i < kFastCount; ++i) s.fast[i] = double(fast[i]) / double(s.samples);
  return s;
}

void add_metrics(const std::string& prefix, const Score& s, Metrics& metrics) {
  const auto judged = double(s.samples + s.infra);
  metrics[prefix + "/correct"] = s.correct;
  metrics[prefix + "/reward"] = s.reward;
  metrics[prefix + "/speedup"] = s.speedup;
  for (size_t i = 0; i < kFastCount; ++i)
    metrics[fmt::format("{}/fast_{}", prefix, kFastThresholds[i])] = s.fast[i];
  metrics[prefix + "/hacks"] = s.samples > 0 ? double(s.hacks) / double(s.samples) : 0;
  metrics[prefix + "/infra"] = judged > 0 ? double(s.infra) / judged : 0;
}

}  // namespace temper
