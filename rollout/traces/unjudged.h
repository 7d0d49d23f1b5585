#pragma once
// Examples that cost no judging.

#include <cstdint>
#include <vector>

#include "env/task.h"
#include "rollout/traces.h"

namespace temper {

struct UnjudgedExamples {
  std::vector<Task> tasks;
  std::vector<Trace> traces;  // of one turn each; its verdict is a PASS that nobody gave
};

// Up to `options.unjudged` tasks varied from the train tasks among `tasks` and equal to none of these,
// held-out ones included, each with one right answer as the grammar writes it, slow or fast by
// `options.slow_rate`. Deterministic in the seed.
UnjudgedExamples make_unjudged_examples(const TraceOptions& options, const std::vector<Task>& tasks,
                                        uint64_t seed);

}  // namespace temper
