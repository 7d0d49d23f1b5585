#include "env/broker/judging.h"

#include <sys/random.h>

#include "base/error.h"
#include "env/message.h"
#include "env/timing.h"

namespace temper {

void conclude(Verdict& verdict, const Found& found) {
  verdict.kind = found ? found->kind : VerdictKind::kPass;
  verdict.reason = found ? found->reason : "";
  verdict.message = verdict_message(verdict, found ? found->detail : "");
}

uint64_t secret_seed() {
  uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != ssize_t(sizeof seed)) throw system_error("draw a random seed");
  return seed;
}

void TimedPairs::add(double candidate_us, double baseline_us) {
  candidate_us_.push_back(candidate_us);
  baseline_us_.push_back(baseline_us);
  if (candidate_us_.size() > 1) ratios_.push_back(baseline_us / candidate_us);
}

bool TimedPairs::enough(int64_t min_pairs, int64_t max_pairs) const {
  return enough_pairs(ratios_, min_pairs, max_pairs);
}

Found TimedPairs::weigh(const Task& task, double floor_us, Verdict& verdict) const {
  const Interval speedup = median_interval(ratios_);
  const std::vector<double> baseline(baseline_us_.begin() + 1, baseline_us_.end());
  verdict.candidate_us = median({candidate_us_.begin() + 1, candidate_us_.end()});
  verdict.baseline_us = median(baseline);
  verdict.speedup = speedup.median;
  verdict.speedup_low = speedup.low;
  verdict.speedup_high = speedup.high;
  verdict.pairs = int64_t(ratios_.size());
  verdict.noise = spread(baseline);
  verdict.floor_us = floor_us;
  if (verdict.candidate_us < floor_us) return Finding{VerdictKind::kHack, "floor", ""};
  if (task.max_speedup > 0 && speedup.median > task.max_speedup)
    return Finding{VerdictKind::kSuspect, "max_speedup", ""};
  return std::nullopt;
}

}  // namespace temper
