#pragma once
// The same reference in other words: factors and summands in another order, v * v for a square and the other
// way round, v * sigmoid(v) for silu(v).

#include "base/rng.h"
#include "env/task/task.h"

namespace temper {

// Errors: ConfigError where the reference is outside the grammar (reference.h).
Task respelled(Task task, Rng& rng);

}  // namespace temper
