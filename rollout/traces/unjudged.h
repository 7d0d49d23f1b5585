#pragma once
// Examples that cost no judging.

#include <cstdint>
#include <vector>

#include "env/task/task.h"
#include "rollout/traces/traces.h"

namespace temper {

struct UnjudgedExamples {
  std::vector<Task> tasks;
  std::vector<Trace> traces;  // the last verdict of each is a PASS that nobody gave
};

// Up to `options.unjudged` tasks varied from the train tasks among `tasks` and equal to none of these,
// held-out ones included, each with a right answer as the grammar writes it, slow or fast by
// `options.slow_rate`. A quarter of the slow ones are followed by a fast one, half of the fast ones by
// themselves; between them stands the verdict that some such answer got in `judged`: the words are real, and
// another task's. Where `judged` has none there is no second answer. Deterministic in the seed and those.
UnjudgedExamples make_unjudged_examples(const TraceOptions& options, const std::vector<Task>& tasks,
                                        const std::vector<Trace>& judged, uint64_t seed);

}  // namespace temper
