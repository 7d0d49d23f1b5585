#pragma once
// Makes another task of the same family: functions, operators and operands are exchanged for others of their kind,
// added or removed. Tasks for GPUs are varied further, once or several times: numbers and types change, inputs are
// replaced by expressions of them, sums are subtracted from others, parts get names, and the whole is spelled
// differently.

#include "base/rng.h"
#include "env/task/task.h"

namespace temper::traces {

// Whether the grammar can write kernels for the task, and therefore for its variations.
bool can_vary(const env::Task& task);

// The parent task with another reference and the inputs that it needs; a task for GPUs may also get another type, or an
// output along the other dimension. Everything else is the parent's. Divisors and the arguments of roots are not
// changed except for their offset, because an exchanged operand might bring them near zero.
env::Task vary(const env::Task& parent, Rng& rng);

}  // namespace temper::traces
