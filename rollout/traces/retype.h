#pragma once
// What of a varied task follows from its reference and types alone.

#include "base/rng.h"
#include "env/task/task.h"

namespace temper::traces {

// The least bytes and arithmetic: the parent's may be more than the task's own.
void set_least_work(env::Task& task);

// All that are of one type of float, in another one: f16 only where nothing can leave its range.
env::Task with_other_type(env::Task task, Rng& rng);

}  // namespace temper::traces
