#include "trainer/algorithm/rejection.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"

namespace temper::trainer {
namespace {

struct Mismatch {
  double mean_ratio = 1;  // exp(mean over response tokens of log π_train − log π_rollout)
  double min_ratio = 1;
};

// `train_log_probs` points to those of the trajectory's segments.
Mismatch mismatch(const rollout::Trajectory& trajectory, const std::vector<float>* train_log_probs) {
  double sum = 0, lowest = 0;
  int64_t count = 0;
  for (const rollout::Turn& turn : trajectory.turns)
    for (const rollout::Span span : turn.spans())
      for (int32_t t = span.begin; t < span.end; ++t) {
        const double difference =
            double(train_log_probs[turn.segment][t]) - double(trajectory.row_of(turn).log_probs[t]);
        sum += difference;
        lowest = std::min(lowest, difference);
        ++count;
      }
  return {.mean_ratio = count ? std::exp(sum / double(count)) : 1, .min_ratio = std::exp(lowest)};
}

void drop(SampleValues& turns) {
  for (TurnValue& turn : turns) turn.kept = false;
}

// clip((PR − start) / width, 0, 1); 1 without a profile.
double keep_probability(const RejectionOptions& options, const env::Verdict& verdict) {
  if (!verdict.pass() || verdict.profile_share < 0) return 1;
  return std::clamp((verdict.profile_share - options.profile_start) / options.profile_width, 0.0, 1.0);
}

// The mean over the profiled turns of a group; 1 if there are none.
double mean_keep_probability(const RejectionOptions& options, const rollout::Group& group) {
  double sum = 0;
  int64_t count = 0;
  for (const rollout::Trajectory& trajectory : group.samples)
    for (const rollout::Turn& turn : trajectory.turns)
      if (turn.verdict.pass() && turn.verdict.profile_share >= 0) {
        sum += keep_probability(options, turn.verdict);
        ++count;
      }
  return count ? sum / double(count) : 1;
}

}  // namespace

void RejectionOptions::visit(OptionVisitor& v) {
  v.option("mismatch", mismatch,
           {.help = "reject trajectories to which trainer and sampler give different probabilities"});
  v.option("mismatch_low", mismatch_low,
           {.help = "mismatch: lowest geometric mean of the token ratios that is kept", .min = 0, .max = 1});
  v.option("mismatch_high", mismatch_high,
           {.help = "mismatch: highest geometric mean of the token ratios that is kept", .min = 1});
  v.option("veto", veto,
           {.help = "mismatch: a trajectory with a token ratio below this is rejected", .min = 0, .max = 1});
  v.option("profile", profile,
           {.help = "reject right answers that spend little device time in their own kernels. "
                    "symmetric also rejects the group's other answers at the same mean rate",
            .choices = {"off", "positives", "symmetric"}});
  v.option("profile_start", profile_start,
           {.help = "right answers with a profile share up to this are always rejected", .min = 0, .max = 1});
  v.option("profile_width", profile_width,
           {.help = "width of the range above profile_start over which the probability of keeping "
                    "an answer rises to 1",
            .min = 1e-6,
            .max = 1});
}

// Source:  Dr. Kernel, 2602.05885, mismatch rejection sampling (MRS)
void reject_mismatch(const RejectionOptions& options, const rollout::Batch& batch,
                     const std::vector<std::vector<float>>& train_log_probs, TurnValues& returns,
                     RejectionStats& stats) {
  size_t row = 0;
  for (size_t g = 0; g < batch.groups.size(); ++g)
    for (size_t n = 0; n < batch.groups[g].samples.size(); ++n) {
      const rollout::Trajectory& trajectory = batch.groups[g].samples[n];
      TEMPER_CHECK(row + trajectory.segments.size() <= train_log_probs.size());
      const auto [mean_ratio, min_ratio] = mismatch(trajectory, train_log_probs.data() + row);
      row += trajectory.segments.size();
      const bool outside = !(mean_ratio >= options.mismatch_low && mean_ratio <= options.mismatch_high);
      const bool vetoed = !outside && min_ratio < options.veto;
      if (outside || vetoed) drop(returns[g][n]);
      stats.mismatch += outside;
      stats.vetoed += vetoed;
    }
}

// Source:  Dr. Kernel, 2602.05885, profiling-based rejection sampling (PRS): keep with probability
//          clip((PR − 0.3)/0.1, 0, 1)
//          | `symmetric` is ours: dropping only right answers would shift the balance towards wrong ones
void reject_profile(const RejectionOptions& options, const rollout::Batch& batch, uint64_t seed,
                    TurnValues& returns, RejectionStats& stats) {
  if (options.profile == "off") return;
  for (size_t g = 0; g < batch.groups.size(); ++g) {
    const double others =
        options.profile == "symmetric" ? mean_keep_probability(options, batch.groups[g]) : 1;
    for (size_t n = 0; n < batch.groups[g].samples.size(); ++n)
      for (size_t t = 0; t < batch.groups[g].samples[n].turns.size(); ++t) {
        const env::Verdict& verdict = batch.groups[g].samples[n].turns[t].verdict;
        const double keep = verdict.pass() ? keep_probability(options, verdict) : others;
        TurnValue& turn = returns[g][n][t];
        if (!turn.kept || Rng({seed, uint64_t(batch.step), g, n, t}).uniform() < keep) continue;
        turn.kept = false;
        ++stats.profile;
      }
  }
}

}  // namespace temper::trainer
