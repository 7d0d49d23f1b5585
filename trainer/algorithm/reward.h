#pragma once
// The reward of each answer.

#include <string>

#include "base/options.h"
#include "rollout/trajectory.h"
#include "trainer/algorithm/turn_values.h"

namespace temper::trainer {

struct RewardOptions {
  std::string name = "log_speedup";
  bool lower_end = true;                     // use the lower end of the speedup's interval, not its center
  double parse_credit = 0;                   // added for an answer that parses and fails later
  double compile_credit = 0;                 // added for an answer that compiles and fails later
  double profile = 1;                        // drkernel: weight of PR
  double base = 1, slope = 1;                // log_speedup: a, b
  double log_floor = -0.5, log_ceiling = 2;  // log_speedup: bounds of the logarithm
  void visit(OptionVisitor& v);
  // Adds what would pay a wrong answer more than a right one.
  void check(Problems& problems) const;
};

// The speedup that counts, in rewards and in fast_p: what is sure of it, or its center.
double counted_speedup(const RewardOptions& options, const env::Verdict& verdict);

// The reward of one judged answer. HACK and SUSPECT earn what a failure earns; INFRA is not kept.
TurnValue reward(const RewardOptions& options, const env::Verdict& verdict);

TurnValues compute_rewards(const RewardOptions& options, const rollout::Batch& batch);

}  // namespace temper::trainer
