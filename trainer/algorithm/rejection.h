#pragma once
// Samples that are left out of learning although they were judged. Applied to returns, so that baselines and
// denominators count only what is kept.

#include <cstdint>
#include <string>
#include <vector>

#include "base/options.h"
#include "rollout/trajectory.h"
#include "trainer/algorithm/turn_values.h"

namespace temper::trainer {

struct RejectionOptions {
  bool mismatch = false;                               // MRS
  double mismatch_low = 0.999, mismatch_high = 1.001;  // bounds of the geometric mean of the ratios
  double veto = 1e-4;                                  // lowest ratio of any token
  std::string profile = "off";                         // PRS
  double profile_start = 0.3, profile_width = 0.1;
  void visit(OptionVisitor& v);
};

struct RejectionStats {
  int64_t mismatch = 0;  // trajectories outside the window
  int64_t vetoed = 0;    // trajectories inside it with a token below `veto`
  int64_t profile = 0;   // turns
};

// Mismatch rejection. `train_log_probs` [row][T] are the trainer's, of rows_of(batch).
void reject_mismatch(const RejectionOptions& options, const rollout::Batch& batch,
                     const std::vector<std::vector<float>>& train_log_probs, TurnValues& returns,
                     RejectionStats& stats);

// Profiling-based rejection, drawn from (seed, step, group, sample, turn).
void reject_profile(const RejectionOptions& options, const rollout::Batch& batch, uint64_t seed,
                    TurnValues& returns, RejectionStats& stats);

}  // namespace temper::trainer
