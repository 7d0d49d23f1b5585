#pragma once
// The options of evaluations and of test-time scaling.

#include <cstdint>
#include <string>
#include <vector>

#include "base/options.h"
#include "env/task/split.h"
#include "rollout/rollout.h"

namespace temper::trainer {

struct ScalingOptions {
  std::vector<std::string> ways = {};  // parallel, sequential, beam; empty: none
  int64_t budget = 16;                 // answers to a task, in each way
  int64_t shown = 4;                   // of a chain's turns, the best ones stand in front of its next answer
  int64_t width = 4, keep = 1;         // of the beam
  int64_t every = 1;                   // of its rounds the best chains are chosen
  void visit(OptionVisitor& v);
  void check(Problems& problems) const;
};

struct EvalOptions {
  std::string split = env::Split::kHeldOut;
  int64_t samples = 8;                    // per task, at the rollout's temperature; greedy is one more
  int64_t turns = 0;                      // 0: as in the rollout
  double top_p = 0;                       // of sampled answers; 0: as in the rollout
  int64_t top_k = -1;                     // −1: as in the rollout
  bool before = true;                     // also before reinforcement learning
  int64_t every = 0;                      // steps; 0: only before and after
  std::string kernelbench_baseline = "";  // a file (kernelbench_baseline.h), or empty
  ScalingOptions scaling;
  void visit(OptionVisitor& v);

  rollout::RolloutOptions rollout(const rollout::RolloutOptions& trained) const;
};

}  // namespace temper::trainer
