#pragma once
// Spells the same reference differently: factors and summands in another order, v * v instead of a square or the
// reverse, v * sigmoid(v) instead of silu(v).

#include "base/rng.h"
#include "env/task/task.h"

namespace temper::traces {

// Errors: ConfigError where the reference is outside the grammar (reference.h).
env::Task respelled(env::Task task, Rng& rng);

}  // namespace temper::traces
