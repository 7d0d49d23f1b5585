#pragma once
// From returns to advantages: what a turn's answer is better by than what it is compared with.

#include <cstdint>
#include <string>
#include <vector>

#include "base/options.h"
#include "rollout/trajectory.h"
#include "trainer/algorithm/turn_values.h"

namespace temper::trainer {

struct AdvantageOptions {
  std::string name = "trloo";
  std::string pool = "turn";  // what a group is: the N samples of a (task, turn), or all N·M turns of a task
  std::string whiten_over = "tokens";  // reinforce++: "tokens", as published, or "turns"
  double plan_weight = 0.1;            // hrd: α
  std::string hrd_baseline = "grpo";   // hrd: how each of the two streams is normalised
  void visit(OptionVisitor& v);
};

// How many answers the estimator must compare at least.
int64_t least_samples(const AdvantageOptions& options);

// Whether the estimator imitates answers by their own rewards, for which loss.objective must be likelihood.
bool imitates(const AdvantageOptions& options);

// The response tokens of each turn, those of answers that ran into the length limit among them.
BatchTokens count_tokens(const rollout::Batch& batch);

// Advantages of the kept turns; turns that are not kept get 0. `returns`: the rewards themselves where
// imitates(options). Plan and code are each on their own, but where tokens are whitened: then they are one
// pool, and apart for hrd alone. `tokens` is asked for there, and by hrd for the answers without code.
TurnValues compute_advantages(const AdvantageOptions& options, const TurnValues& returns,
                              const BatchTokens& tokens = {});

// Whether a group gives a gradient: at some turn the returns of two kept samples differ.
bool has_signal(const GroupValues& returns);

// The advantages of one row of a batch.
struct RowAdvantages {
  std::vector<float> advantage;  // [T]
  std::vector<uint8_t> mask;     // [T], 1 = in the loss; never outside the row's own responses
};
using TokenAdvantages = std::vector<RowAdvantages>;  // one for each of rows_of(batch)

// Plan tokens and summaries get the turn's plan value, code tokens its code value. `mask_overlong` leaves out
// answers that ran into the length limit (DAPO, 2503.14476, overlong filtering); they stay in the baselines.
TokenAdvantages spread_over_tokens(const rollout::Batch& batch, const TurnValues& advantages,
                                   bool mask_overlong = false);

}  // namespace temper::trainer
