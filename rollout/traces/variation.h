#pragma once
// Another task of the same family: functions, operators and operands exchanged for others of their kind, put
// around or taken away. In CUDA farther away: numbers and types, too, inputs replaced by something made of
// them, sums set against others, parts given names, the whole said in other words, and all that once or
// several times.

#include "base/rng.h"
#include "env/task/task.h"

namespace temper {

// Whether the grammar writes kernels for the task, and so for what becomes of it.
bool can_vary(const Task& task);

// The parent with another reference and the inputs that it needs; in CUDA perhaps of another type, or with an
// output along the other dimension. Everything else is the parent's. What a quotient or a root stands on is
// left alone but for its offset: an exchanged operand may bring it near zero.
Task vary(const Task& parent, Rng& rng);

}  // namespace temper
