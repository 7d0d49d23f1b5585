#pragma once
// Test-time scaling: a budget of answers to a task, spent on one chain of attempts, on many at once, or on a
// beam.
//
// Each chain's next answer sees the best of the chain's turns so far, not all of them. After a round of one
// answer a chain the best chains go on, copied to the full width. Source: Dr. Kernel (2602.05885), sequential
// test-time scaling with the history outside the prompt; Kevin
//         (2507.11948), beam search over refinement trajectories.

#include <functional>
#include <vector>

#include "rollout/rollout.h"

namespace temper {

struct SearchOptions {
  int64_t budget = 16;  // answers to a task
  int64_t width = 1;    // chains; 1: sequential, budget: parallel
  int64_t keep = 1;     // chains that go on; width: all
  int64_t every = 1;    // rounds between two choices of them
  int64_t shown = 4;    // turns that a new answer sees
};

// One way of spending the budget on one task: its verdicts in the order of the rounds.
struct Search {
  const Task* task;
  std::vector<Verdict> verdicts;  // [budget]
};

// `trials` searches for each task, task by task. `value`: of a verdict, the better the higher; a right answer
// is better than a wrong one whatever it says. An answer that could not be judged (INFRA) is not shown and
// makes no chain better. Each round's rows are given to `record`, which ends the search by throwing.
// Deterministic as a rollout is. Errors: as of Rollout::run; TEMPER_CHECK of options that make no sense.
std::vector<Search> search(Rollout& rollout, const std::vector<const Task*>& tasks, int64_t trials,
                           const SearchOptions& options, const std::function<double(const Verdict&)>& value,
                           const std::function<void(const Batch&)>& record,
                           const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace temper
