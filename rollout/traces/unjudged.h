#pragma once
// Examples that cost no judging.

#include <cstdint>
#include <vector>

#include "env/task/task.h"
#include "rollout/traces/traces.h"

namespace temper::traces {

struct UnjudgedExamples {
  std::vector<env::Task> tasks;
  std::vector<Trace> traces;  // the last verdict of each is a PASS that nobody gave
};

// Makes up to `options.unjudged` tasks by varying the train tasks among `tasks`. None of them equals one of `tasks`,
// including the held-out ones. Each has a right answer written by the grammar, slow or fast by `options.slow_rate`. A
// quarter of the slow answers are followed by a fast one, and half of the fast ones by themselves. The feedback
// between the two is a real verdict on a similar answer to another task, taken from `judged`; if `judged` has none,
// there is no second answer. Deterministic in the seed and the other arguments.
UnjudgedExamples make_unjudged_examples(const TraceOptions& options, const std::vector<env::Task>& tasks,
                                        const std::vector<Trace>& judged, uint64_t seed);

}  // namespace temper::traces
