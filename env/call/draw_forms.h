#pragma once
// Which forms (env/call/draw_family.h) the inputs of a call take.
//
// The calls of one verdict take the kinds by turns, in an order that is secret until the candidate is
// compiled, so that a verdict meets all of them. The inputs of a call depart alike, each in its own way, or
// one alone beside plain ones: what a candidate takes for granted of one input may hold only while the others
// are plain.

#include <functional>
#include <vector>

#include "env/call/draw_family.h"
#include "env/task/task.h"

namespace temper {

// The call of that number under a key that is made once for each verdict. A negative number: all inputs are
// plain. A timed call has no kinds that set times.
struct DrawTurn {
  uint64_t key = 0;
  int32_t number = -1;
  bool timed = false;
};

// The kinds that an input of the task can take at a shape, kPlain first. Where a task picks, normal inputs
// have no equal elements.
std::vector<DrawKind> draw_kinds(const Task& task, size_t input, const Shape& shape);

// How many terms the longest sum of a right answer may have in plain order: as many as the longest dimension,
// or as the largest input has elements for each output element.
double longest_sum(const Task& task, const Shape& shape);

// A form of that kind. `far` in [0, 1]: how far from plain it may go, 1 is all the way. kPlain goes nowhere,
// except that distinct elements take another range, more so the farther; with 0 it is the one that the task
// says. `terms`: of the longest sum. Terms that are equal, or differ by less than the sum's last place, are
// all rounded the same way. A plain sum in f32 is then off by up to terms · 2^-25 of itself, where others
// leave the root of that. So the longer the sum, the less alike a form makes its elements.
DrawForm draw_form(const TensorSpec& input, const Shape& shape, double magnitude, DrawKind kind, double far,
                   uint64_t key, double terms = 1);

// The steps in which `far` is tried, until a right answer stays right; 0 after the last.
inline constexpr double kFarSteps[] = {1, 0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-9};

// How far an input may go in that kind while the others are plain; input kAlike: all together that can. 0:
// not at all.
using FarLimit = std::function<double(int input, DrawKind kind)>;
inline constexpr int kAlike = -1;

// The forms of all inputs for one call. The same arguments give the same forms.
std::vector<DrawForm> draw_forms(const Task& task, const Shape& shape, double magnitude, uint64_t seed,
                                 DrawTurn turn, const FarLimit& far);

// … of each input the kind and how far it goes, without the numbers.
struct DrawChoice {
  DrawKind kind = DrawKind::kPlain;
  double far = 0;
};
std::vector<DrawChoice> draw_choices(const Task& task, const Shape& shape, DrawTurn turn,
                                     const FarLimit& far);

// … where every input that can takes this kind, or only `input`, at its outermost: for measuring how far it
// may go. An even seed goes up, an odd one down.
std::vector<DrawForm> outermost_forms(const Task& task, const Shape& shape, double magnitude, uint64_t seed,
                                      int input, DrawKind kind, double far);

// Whether a call's time may hang on the kind: which indices there are, and the order in which elements stand
// to each other. Pairs on equal indices and on scattered ones, or on sorted elements and on others, are no
// repetitions of each other. Such kinds are for checks.
bool sets_times(DrawKind kind);

// Whether some elements of a form are far larger than the others. A plain sum of very many may then lose the
// others: an addend below half a last place of the sum is gone.
bool singles_out(DrawKind kind);

// The first of kFarSteps at which `right` says of the outermost draws that a right answer stays right; 0: of
// none. A kind that knows no distance is had as it is or not at all.
double farthest(DrawKind kind, const std::function<bool(double far, uint64_t seed)>& right);

}  // namespace temper
