#pragma once
// How much of an error is nobody's fault: what a right answer may be off where large numbers cancel.
//
// A bound of |expected| and the output's scale knows nothing of what was added up. Where x · z is 10^4 and
// leaves 1, whoever rounds it once is off by 10^4 roundings of what is left, in whatever order the sums are
// made. The f64 reference itself tells how much that is: it moves as much when its inputs are rounded once
// more.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "env/task/task.h"

namespace temper {

// How far from the reference, in strict bounds (tolerance.h), the baseline may be on inputs that are far from
// plain ones for those to be drawn.
inline constexpr double kNeighbourhood = 2;

// A right answer may be off by as many movements: of few patterns the largest may be small by chance.
inline constexpr double kMovements = 2;

// What half a last place of f32 becomes over the longest sum of the task (env/call/draw_forms.h): it grows with the
// root of the number of terms.
double summed_rounding(const Task& task, const Shape& shape);

// For each output and element the most that the reference moves while each element of each input is times
// 1 ± `rounding`, over a few patterns of signs; infinite where it does not stay finite. Outputs and
// `expected` are f64; of outputs that are integers nothing is computed.
using WideReference = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;
std::vector<at::Tensor> movements(const WideReference& reference, const std::vector<at::Tensor>& inputs,
                                  const std::vector<at::Tensor>& expected, double rounding, uint64_t key);

}  // namespace temper
