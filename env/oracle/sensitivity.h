#pragma once
// How much of an error rounding alone explains: a right answer is inexact where large numbers cancel.
//
// A bound made of |expected| and the output's scale does not depend on the size of the terms that were added. If
// terms of 10^4 cancel and leave 1, rounding a term once is an error of 10^4 roundings of the result, whatever the
// order of the sums. The f64 reference shows how large that error is, because it moves by as much when its
// inputs and what it computes on the way are rounded once more, and its sums lose what plain f32 sums lose
// (plain_sums.h). Rounding the inputs alone would not do: two distances from one far point are both large and differ by
// little, and what moves the point moves them alike.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "env/oracle/roundings.h"
#include "env/task/task.h"

namespace temper::env {

// How far from the reference, in strict bounds (tolerance.h), the baseline may be on inputs that are far from
// plain ones for those to be drawn.
inline constexpr double kNeighbourhood = 2;

// A right answer may differ by this many movements. The factor is above 1 because the largest movement of only a
// few patterns may be small by chance.
inline constexpr double kMovements = 2;

// Inputs err by the rounding of an f32 sum relative to its terms: half a unit in the last place, times the root of the
// number of terms of the task's longest sum (longest_sum in env/call/draw_forms.h). Results err by as much, or by half a
// unit in the last place of the type that the baseline computes in, that of the widest floating input.
RoundingErrors rounding_errors(const Task& task, const Shape& shape);

// On plain inputs nothing but what sums lose (plain_sums.h) excuses an answer, so that the bounds there stay tight.
inline constexpr RoundingErrors kLossesAlone{};

// The f64 reference under the random roundings of a key (Reference::rounded).
using RoundedReference = std::function<std::vector<at::Tensor>(uint64_t key)>;

// For each element of each output, the largest movement of the reference under random roundings, over the patterns of
// signs so far. Each pattern costs a call of the reference and never makes a movement smaller, so a comparison asks
// for one more only while something lies outside. After some patterns only chance may still explain what lies outside,
// and only a few elements in a thousand, so that more patterns are made for few elements alone: among millions some
// have movements that are small by chance in all of the first ones. No more are made where nothing is left to chance,
// so that a second one is the same as the first. The movement is infinite or NaN if the reference does not stay finite.
// Outputs and `expected` are f64. Integer outputs have no movement.
class Movements {
 public:
  Movements(RoundedReference reference, std::vector<at::Tensor> expected, uint64_t key);
  // Over at least one pattern.
  const at::Tensor& of(size_t output);
  // Adds a pattern, where that share of the elements lies outside. False if all have been made that may help.
  bool widen(double outside = 1);
  // Whether nothing of the output lies outside in the end. `outside` says which share of it does with the movements so
  // far, and is asked until it is none or no further pattern may help.
  bool explain(size_t output, const std::function<double(const at::Tensor& movement)>& outside);

 private:
  RoundedReference reference_;
  std::vector<at::Tensor> expected_, most_;
  uint64_t key_, made_ = 0;
};

}  // namespace temper::env
