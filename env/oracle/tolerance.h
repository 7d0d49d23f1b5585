#pragma once
// How wrong an output on a GPU may be.

#include <c10/core/ScalarType.h>

#include "env/task.h"

namespace temper {

at::ScalarType dtype_of(ElementType type);

// Relative to |expected| and the output's scale (compare.h): the task's tolerance, the rounding of the
// output's type, and the rounding of a sum over as many terms as the largest input has elements for each
// output element.
double strict_error(const Task& task, size_t output, const Shape& shape);

// … and four times what the baseline at its precision is off, up to what that precision may excuse.
double allowed_error(double strict, ElementType type, double baseline_error);

}  // namespace temper
