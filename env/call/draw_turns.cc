#include "env/call/draw_turns.h"

#include <algorithm>
#include <numeric>

#include "base/rng.h"

namespace temper::env {
namespace {

constexpr uint64_t kManners = 0x3A22;

// A random order of `count` things, the same for the same key.
std::vector<uint32_t> order_of(size_t count, uint64_t key) {
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  Rng rng(key);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

// Inputs that may go together less far than one alone by more than this go their own ways.
constexpr double kMuchNearer = 8;

// How the inputs of a call depart together: as the subject does, each in its own way, or the subject alone.
enum class Manner { kAlike, kEach, kAlone };

struct Departure {
  Manner manner = Manner::kEach;
  size_t subject = 0;
};

// Calls come in blocks. In half of a block's calls each input goes its own way, and in the others each is the subject
// once: chance decides the order alone, so no verdict passes an input by.
Departure departure_of(uint64_t key, uint64_t number, size_t inputs) {
  if (inputs < 2) return {};
  const uint64_t calls = 2 * inputs, block = number / calls;
  const uint64_t place = order_of(calls, mix_key({key, kManners, block}))[number % calls];
  if (place < inputs) return {};
  const size_t subject = place - inputs;
  const bool alike = (mix_key({key, kManners}) + block + subject) % 2 == 0;
  return {alike ? Manner::kAlike : Manner::kAlone, subject};
}

// An input's kinds at any shape of the task.
std::vector<DrawKind> all_kinds(const Task& task, size_t input) {
  std::vector<DrawKind> all;
  for (const Shape& shape : all_shapes(task))
    for (const DrawKind kind : draw_kinds(task, input, shape))
      if (std::ranges::count(all, kind) == 0) all.push_back(kind);
  std::ranges::sort(all);
  return all;
}

// The kinds by turns: the order of each round is another one.
class Turns {
 public:
  Turns(const Task& task, const Shape& shape, DrawTurn turn, const FarLimit& far)
      : task_(task),
        turn_(turn),
        far_(far),
        departure_(departure_of(turn.key, uint64_t(turn.number), task.inputs.size())) {
    for (size_t i = 0; i < task.inputs.size(); ++i) {
      kinds_.push_back(all_kinds(task, i));
      possible_.push_back(draw_kinds(task, i, shape));
    }
    taken_.resize(kinds_.size());
    for (uint64_t number = 0; number < uint64_t(turn.number); ++number) {
      const Departure departure = departure_of(turn.key, number, kinds_.size());
      for (size_t i = 0; i < kinds_.size(); ++i) taken_[i] += takes_its_turn(departure, i);
    }
  }

  // The kind of an input, and how far it departs.
  std::pair<DrawKind, double> kind_of(size_t input) const {
    const auto chosen = any_kind_of(input);
    return turn_.timed && sets_times(chosen.first) ? plain(input) : chosen;
  }

 private:
  // Whether it departs in the kind that comes next in its own order.
  bool takes_its_turn(const Departure& departure, size_t input) const {
    if (departure.manner == Manner::kEach || departure.subject == input) return true;
    const Distribution mine = task_.inputs[input].distribution,
                       its = task_.inputs[departure.subject].distribution;
    return departure.manner == Manner::kAlone ? mine == Distribution::kIndex : mine != its;
  }

  std::pair<DrawKind, double> any_kind_of(size_t input) const {
    if (departure_.manner == Manner::kAlike) {
      const DrawKind kind = own_kind_of(departure_.subject).first;
      const double far = kind == DrawKind::kPlain || !can(input, kind) ? 0 : far_(kAlike, kind);
      if (far > 0 && far * kMuchNearer >= far_(int(input), kind)) return {kind, far};
    } else if (!takes_its_turn(departure_, input)) {
      return plain(input);
    }
    return own_kind_of(input);
  }

  bool can(size_t input, DrawKind kind) const { return std::ranges::count(possible_[input], kind) != 0; }

  // Of the plain kind only distinct elements know more than one distance.
  std::pair<DrawKind, double> plain(size_t input) const {
    const bool distinct = task_.inputs[input].distribution == Distribution::kDistinct;
    return {DrawKind::kPlain, distinct ? far_(int(input), DrawKind::kPlain) : 0};
  }

  // The one whose turn it is, or the next one that can be had. An index keeps one secret order, so that as many calls as it has
  // kinds meet them all, wherever they begin: few calls are made at the timed shape.
  std::pair<DrawKind, double> own_kind_of(size_t input) const {
    const auto& kinds = kinds_[input];
    const uint64_t number = taken_[input], count = kinds.size();
    const bool index = task_.inputs[input].distribution == Distribution::kIndex;
    const auto order = order_of(count, mix_key({turn_.key, index ? 0 : number / count, input}));
    for (uint64_t i = 0; i < count; ++i) {
      const DrawKind kind = kinds[order[(number + i) % count]];
      if (kind == DrawKind::kPlain) break;
      if (!can(input, kind)) continue;
      if (const double far = far_(int(input), kind); far > 0) return {kind, far};
    }
    return plain(input);
  }

  const Task& task_;
  DrawTurn turn_;
  const FarLimit& far_;
  Departure departure_;
  std::vector<std::vector<DrawKind>> kinds_, possible_;
  std::vector<uint64_t> taken_;  // own turns before this call
};

}  // namespace

DrawTurn& VerdictTurns::at(const Task& task, const Shape& shape) {
  return has_all_kinds(task, shape) ? all_ : few_;
}

bool has_all_kinds(const Task& task, const Shape& shape) {
  for (size_t i = 0; i < task.inputs.size(); ++i)
    if (draw_kinds(task, i, shape).size() < all_kinds(task, i).size()) return false;
  return true;
}

int64_t calls_for_all_kinds(const Task& task) {
  const size_t inputs = task.inputs.size();
  size_t most = 1;
  for (size_t i = 0; i < inputs; ++i) most = std::max(most, all_kinds(task, i).size());
  if (inputs < 2) return int64_t(most);
  const size_t turns = inputs + 1;  // of each input in a block
  return int64_t((most + turns - 1) / turns * 2 * inputs);
}

double magnitude_of_timed(const Task& task, int64_t number) {
  const auto& magnitudes = task.magnitudes;
  return number < std::ssize(magnitudes) ? magnitudes[magnitudes.size() - 1 - size_t(number)] : 1;
}

std::vector<DrawForm> draw_forms(const Task& task, const Shape& shape, double magnitude, uint64_t seed,
                                 DrawTurn turn, const FarLimit& far) {
  std::vector<DrawForm> forms;
  if (turn.number < 0) return outermost_forms(task, shape, magnitude, seed, kAlike, DrawKind::kPlain, 0);
  const Turns turns(task, shape, turn, far);
  const double terms = longest_sum(task, shape);
  for (size_t i = 0; i < task.inputs.size(); ++i) {
    const auto [kind, how_far] = turns.kind_of(i);
    forms.push_back(draw_form(task.inputs[i], shape, magnitude, kind, how_far, mix_key({seed, i}), terms));
  }
  return forms;
}

std::vector<DrawChoice> draw_choices(const Task& task, const Shape& shape, DrawTurn turn,
                                     const FarLimit& far) {
  std::vector<DrawChoice> choices(task.inputs.size());
  if (turn.number < 0) return choices;
  const Turns turns(task, shape, turn, far);
  for (size_t i = 0; i < choices.size(); ++i) {
    const auto [kind, how_far] = turns.kind_of(i);
    choices[i] = {kind, how_far};
  }
  return choices;
}

}  // namespace temper::env
