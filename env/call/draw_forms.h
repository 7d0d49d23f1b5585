#pragma once
// The forms (env/call/draw_family.h) that the inputs of a task can take.

#include <functional>
#include <vector>

#include "env/call/draw_family.h"
#include "env/task/task.h"

namespace temper::env {

// Whether the task outputs integers, such as the places of what it picks: then two elements that are nearly equal must
// be told apart.
bool picks(const Task& task);

// The kinds that an input of the task can take at a shape, kPlain first. Where a task picks, normal inputs
// have no equal elements.
std::vector<DrawKind> draw_kinds(const Task& task, size_t input, const Shape& shape);

// The number of terms of a sum that adds up the largest input for an output: its elements for each element of that
// output, at least 1.
double terms_of_output(const Task& task, size_t output, const Shape& shape);

// The number of terms that the longest sum of a right answer may have in plain order: the longest dimension or, if
// larger, the terms of the output with the most.
double longest_sum(const Task& task, const Shape& shape);

// A form of that kind. `far` in [0, 1] is how far the form may depart from a plain one. kPlain does not depart,
// except that distinct elements take a range that moves away from the task's own as `far` grows from 0. `terms` is
// the length of the longest sum. Terms that are equal, or differ by less than the sum's last place, are all rounded
// in the same direction, so that a plain f32 sum may be off by up to terms · 2^-25 of itself, where other terms leave
// the root of that. The longer the sum, the less similar a form therefore makes its elements.
DrawForm draw_form(const TensorSpec& input, const Shape& shape, double magnitude, DrawKind kind, double far,
                   uint64_t key, double terms);

// The values of `far` among which the farthest is sought at which right answers are judged right. If none suits, it is 0.
inline constexpr double kFarSteps[] = {1, 0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-9};

// In place of an input's number: all inputs that can have the kind.
inline constexpr int kAlike = -1;

// The forms of a call in which `input` takes this kind at its outermost; for kAlike, every input that can. The
// admission uses them to measure how far a kind may depart. An even seed departs upwards, an odd one downwards.
std::vector<DrawForm> outermost_forms(const Task& task, const Shape& shape, double magnitude, uint64_t seed,
                                      int input, DrawKind kind, double far);

// Whether a call's time may depend on the kind, through the values of indices or the order of elements. Pairs on equal
// and on scattered indices, or on sorted and on other elements, are not repetitions of the same measurement. Such
// kinds are used for checks only.
bool sets_times(DrawKind kind);

// Whether some elements of a form are far larger than the others. A plain f32 sum of very many elements may then
// lose the small ones: an addend below half a unit in the last place of the sum vanishes.
bool singles_out(DrawKind kind);

// The farthest of kFarSteps at which `right` holds for the outermost draws, found by halving, or 0 if it holds at none
// that is tried. Kinds without a notion of distance give 1 or 0.
double farthest(DrawKind kind, const std::function<bool(double far, uint64_t seed)>& right);

}  // namespace temper::env
