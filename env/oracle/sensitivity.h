#pragma once
// How much of an error rounding alone explains: a right answer is inexact where large numbers cancel.
//
// A bound made of |expected| and the output's scale does not depend on the size of the terms that were added. If
// terms of 10^4 cancel and leave 1, rounding a term once is an error of 10^4 roundings of the result, whatever the
// order of the sums. The f64 reference shows how large that error is, because it moves by as much when its
// inputs are rounded once more.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "env/task/task.h"

namespace temper::env {

// How far from the reference, in strict bounds (tolerance.h), the baseline may be on inputs that are far from
// plain ones for those to be drawn.
inline constexpr double kNeighbourhood = 2;

// A right answer may differ by this many movements. The factor is above 1 because the largest movement of only a
// few patterns may be small by chance.
inline constexpr double kMovements = 2;

// The rounding error of an f32 sum relative to its terms: half a unit in the last place, times the root of the number
// of terms of the task's longest sum (longest_sum in env/call/draw_forms.h).
double summed_rounding(const Task& task, const Shape& shape);

// For each element of each output, the largest movement of the reference when every input element is multiplied by
// 1 ± `rounding`, over a few patterns of signs. The movement is infinite if the reference does not stay finite.
// Outputs and `expected` are f64. Nothing is computed for integer outputs.
using WideReference = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;
std::vector<at::Tensor> movements(const WideReference& reference, const std::vector<at::Tensor>& inputs,
                                  const std::vector<at::Tensor>& expected, double rounding, uint64_t key);

}  // namespace temper::env
