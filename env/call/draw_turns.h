#pragma once
// Which forms (env/call/draw_forms.h) the inputs of a verdict's calls take.
//
// The calls of one verdict take the kinds in turn, so that every verdict covers all of them; their order is
// secret until the candidate is compiled. In one call the inputs all take the same kind, or each its own, or only
// one input departs and the others are plain. A candidate's wrong assumption about one input may show only in
// one of these cases. Each input has turns of its own, which it keeps for another call where it is plain or does as
// another input does. Indices depart beside an input that departs alone, too.

#include <functional>
#include <vector>

#include "base/rng.h"
#include "env/call/draw_forms.h"

namespace temper::env {

// The call of that number under a key that is made once for each verdict. A negative number: all inputs are
// plain. A timed call has no kinds that set times.
struct DrawTurn {
  uint64_t key = 0;
  int32_t number = -1;
  bool timed = false;
};

// The next turns of one verdict. Some shapes cannot have all kinds, such as a shape of one row. Their calls have turns
// apart, so that none of the kinds is passed by at them.
class VerdictTurns {
 public:
  explicit VerdictTurns(uint64_t key) : all_{key, 0}, few_{mix_key({key, 1}), 0} {}
  DrawTurn& at(const Task& task, const Shape& shape);
  uint64_t key() const { return all_.key; }
  int64_t taken() const { return int64_t(all_.number) + few_.number; }

 private:
  DrawTurn all_, few_;
};

// Whether the inputs can take at this shape each kind that they can take at some shape of the task.
bool has_all_kinds(const Task& task, const Shape& shape);

// A verdict that makes at least so many calls at shapes that have all kinds gives each input each of its kinds. A
// kind is left out only where its limit forbids it.
int64_t calls_for_all_kinds(const Task& task);

// The magnitude of a verdict's call of that number, from 0, at a timed shape: the task's magnitudes from the last to the
// first, then 1.
double magnitude_of_timed(const Task& task, int64_t number);

// How far an input may depart in that kind while the others are plain; for kAlike, how far all inputs that have
// the kind may depart together. 0 means not at all.
using FarLimit = std::function<double(int input, DrawKind kind)>;

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

}  // namespace temper::env
