#pragma once
// One step's figures under verl's names, plus env/*.

#include "rollout/rollout.h"
#include "rollout/trajectory.h"
#include "trainer/algorithm/rejection.h"
#include "trainer/algorithm/reward.h"
#include "trainer/algorithm/turn_values.h"
#include "trainer/learn/learner.h"
#include "trainer/run/metrics.h"

namespace temper::trainer {

struct StepRecord {
  const RewardOptions& reward;
  const rollout::Batch& batch;
  const TurnValues& rewards;
  const TurnValues& returns;
  const TurnValues& advantages;
  RejectionStats rejected;
  LearnStats learned;
  rollout::RolloutStats rollout;
  double seconds = 0;  // the whole step
};

// A turn's value is the mean of its plan's and its code's; values that are not kept are in no figure. Shares
// of env/* are over judged turns without INFRA, which is counted apart.
Metrics step_metrics(const StepRecord& step);

}  // namespace temper::trainer
