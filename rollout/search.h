#pragma once
// Test-time scaling: a budget of answers to a task, spent on one chain of attempts, on many at once, or on a
// beam.
//
// Each chain's next answer sees the best of the chain's turns so far, not all of them. After each round of one answer
// per chain, the best chains are selected and copied to the full width.
// Source: Dr. Kernel (2602.05885), sequential test-time scaling with the history outside the prompt; Kevin
//         (2507.11948), beam search over refinement trajectories.

#include <functional>
#include <vector>

#include "rollout/rollout.h"

namespace temper::rollout {

struct SearchOptions {
  int64_t budget = 16;  // answers to a task
  int64_t width = 1;    // chains; 1: sequential, budget: parallel
  int64_t keep = 1;     // chains that are selected; all of them if it equals width
  int64_t every = 1;    // rounds between two choices of them
  int64_t shown = 4;    // turns that a new answer sees
};

// One way of spending the budget on one task: its verdicts in the order of the rounds.
struct Search {
  const env::Task* task;
  std::vector<env::Verdict> verdicts;  // [budget]
};

// Runs `trials` searches for each task, task by task. `value` rates a verdict, higher is better; a right answer is
// better than a wrong one whatever their values. An answer that could not be judged (INFRA) is not shown and improves
// no chain. Each round's rows are passed to `record`, which can end the search by throwing. Deterministic in the same
// sense as a rollout. Errors: those of Rollout::run; TEMPER_CHECK for options that contradict each other.
std::vector<Search> search(Rollout& rollout, const std::vector<const env::Task*>& tasks, int64_t trials,
                           const SearchOptions& options,
                           const std::function<double(const env::Verdict&)>& value,
                           const std::function<void(const Batch&)>& record,
                           const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace temper::rollout
