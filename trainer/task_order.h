#pragma once
// Which tasks a step works on.

#include <cstdint>
#include <vector>

#include "env/task.h"

namespace temper {

// The tasks in an order that the seed decides, dealt round and round: step s (from 1) gets the next `count`
// of them. Depends on nothing that came before, so a run can go on from any step. No task twice in a step:
// count ≤ tasks.
std::vector<const Task*> tasks_of_step(std::vector<const Task*> tasks, uint64_t seed, int64_t step,
                                       int64_t count);

}  // namespace temper
