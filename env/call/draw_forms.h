#pragma once
// Which forms (env/call/draw_family.h) the inputs of a call take.
//
// The calls of one verdict take the kinds in turn, so that every verdict covers all of them; their order is
// secret until the candidate is compiled. In one call the inputs all take the same kind, or each its own, or only
// one input departs and the others are plain. A candidate's wrong assumption about one input may show only in
// one of these cases. Each input has turns of its own, which it keeps for another call where it is plain or does as
// another input does. Indices depart beside an input that departs alone, too.

#include <functional>
#include <vector>

#include "env/call/draw_family.h"
#include "env/task/task.h"

namespace temper::env {

// The call of that number under a key that is made once for each verdict. A negative number: all inputs are
// plain. A timed call has no kinds that set times.
struct DrawTurn {
  uint64_t key = 0;
  int32_t number = -1;
  bool timed = false;
};

// Whether the task outputs integers, such as the places of what it picks: then two elements that are nearly equal must
// be told apart.
bool picks(const Task& task);

// The kinds that an input of the task can take at a shape, kPlain first. Where a task picks, normal inputs
// have no equal elements.
std::vector<DrawKind> draw_kinds(const Task& task, size_t input, const Shape& shape);

// Whether all kinds that the inputs have at any of the task's shapes can be had at this one.
bool has_all_kinds(const Task& task, const Shape& shape);

// In so many calls with numbers from 0 on, at shapes that have all kinds, each input takes each of its kinds by its
// own turn, unless its limit forbids the kind.
int64_t calls_for_all_kinds(const Task& task);

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

// How far an input may depart in that kind while the others are plain; for kAlike, how far all inputs that have
// the kind may depart together. 0 means not at all.
using FarLimit = std::function<double(int input, DrawKind kind)>;
inline constexpr int kAlike = -1;

// The forms of all inputs for one call. The same arguments give the same forms.
std::vector<DrawForm> draw_forms(const Task& task, const Shape& shape, double magnitude, uint64_t seed,
                                 DrawTurn turn, const FarLimit& far);

// The kind that draw_forms chooses for an input, and how far it departs.
struct DrawChoice {
  DrawKind kind = DrawKind::kPlain;
  double far = 0;
};
std::vector<DrawChoice> draw_choices(const Task& task, const Shape& shape, DrawTurn turn,
                                     const FarLimit& far);

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
