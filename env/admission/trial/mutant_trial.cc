#include "env/admission/trial/mutant_trial.h"

#include <algorithm>
#include <optional>

#include "base/rng.h"
#include "env/admission/trial/mutants.h"
#include "env/admission/trial/trial_case.h"
#include "env/call/draw_turns.h"

namespace temper::env {
namespace {

constexpr uint64_t kMutantSeed = 0x3147;
constexpr double kWildScales[] = {1e-3, 30, 1e3, 1e6};  // times what a judge draws

struct Suspect {
  Mutant mutant;
  MutantFate fate;
  bool differs = false;  // from the reference, by a bit
  bool failed = false;   // to run
};

bool same_bits_of(const Tensors& a, const Tensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const at::Tensor& one, const at::Tensor& other) {
                      return one.sizes() == other.sizes() && one.view(at::kByte).equal(other.view(at::kByte));
                    });
}

class MutantTrial {
 public:
  MutantTrial(const Task& task, TrialCases& cases, int64_t draws)
      : task_(task), cases_(cases), draws_(draws) {
    for (Mutant& mutant : mutants_of(task)) {
      suspects_.push_back({std::move(mutant), {}, false, false});
      Suspect& suspect = suspects_.back();
      suspect.fate.mutant = suspect.mutant.name;
      suspect.fate.kind = name_of(suspect.mutant.kind);
    }
  }

  std::vector<MutantFate> run(bool timed) {
    try_at(task_.check_shapes, &MutantFate::check_draw, &MutantFate::check_idle);
    if (timed) try_at(timed_shapes(task_), &MutantFate::timed_draw, &MutantFate::timed_idle);
    for (const double scale : kWildScales) compare_bits(scale);
    std::vector<MutantFate> fates;
    for (Suspect& suspect : suspects_) {
      MutantFate& fate = suspect.fate;
      fate.timed_tried = timed;
      const bool spoils_nothing =
          suspect.mutant.kind == MutantKind::kMemory && fate.check_idle && (!timed || fate.timed_idle);
      if (suspect.differs && !suspect.failed && !spoils_nothing) fates.push_back(std::move(fate));
    }
    return fates;
  }

 private:
  using Draw = int64_t MutantFate::*;
  using Idle = bool MutantFate::*;

  void try_at(const std::vector<Shape>& shapes, Draw draw, Idle idle) {
    for (Suspect& suspect : suspects_) suspect.fate.*idle = true;
    for (int64_t i = 0; i < draws_; ++i) {
      const double magnitude = magnitude_of(draw, i);
      for (const Shape& shape : shapes) {
        const auto lives = [&](const Suspect& suspect) { return !suspect.failed && suspect.fate.*draw < 0; };
        if (std::ranges::none_of(suspects_, lives)) return;
        TrialCase one = cases_.make_far(shape, magnitude, {kMutantSeed, int32_t(i)});
        for (Suspect& suspect : suspects_)
          if (lives(suspect)) judge(suspect, one, draw, idle, i);
      }
    }
  }

  // As a judge draws: all magnitudes at the check shapes, not in step with the turns.
  double magnitude_of(Draw draw, int64_t number) const {
    if (draw == &MutantFate::timed_draw) return magnitude_of_timed(task_, number);
    return task_.magnitudes[mix_key({kMutantSeed, uint64_t(number), 1}) % task_.magnitudes.size()];
  }

  void judge(Suspect& suspect, TrialCase& one, Draw draw, Idle idle, int64_t number) {
    const auto outputs = answer(suspect, {one.inputs, one.shape, one.magnitude, fill_of_call(number)});
    if (!outputs) return;
    const bool refused = !cases_.passes(one, *outputs);
    if (suspect.fate.*idle)
      suspect.fate.*idle =
          !refused && same_bits_of(*outputs, cases_.reference().wide(one.inputs, at::kFloat));
    if (!refused) return;
    suspect.differs = true;
    suspect.fate.*draw = number;
  }

  static Fill fill_of_call(int64_t number) { return {kMutantSeed, uint32_t(number)}; }

  std::optional<Tensors> answer(Suspect& suspect, const MutantCall& call) {
    try {
      return suspect.mutant.answer(call);
    } catch (const std::exception&) {
      suspect.failed = true;
      return std::nullopt;
    }
  }

  void compare_bits(double scale) {
    const Shape& shape = task_.check_shapes.front();
    for (const double magnitude : task_.magnitudes) {
      Tensors inputs = cases_.draw(shape, magnitude, kMutantSeed);
      for (at::Tensor& input : inputs)
        if (input.is_floating_point()) input = (input.to(at::kFloat) * scale).to(input.scalar_type());
      const Tensors right = cases_.reference().wide(inputs, at::kFloat);
      for (Suspect& suspect : suspects_) {
        if (suspect.differs || suspect.failed) continue;
        const auto outputs = answer(suspect, {inputs, shape, magnitude, fill_of_call(0)});
        suspect.differs = outputs && !same_bits_of(*outputs, right);
      }
    }
  }

  const Task& task_;
  TrialCases& cases_;
  int64_t draws_;
  std::vector<Suspect> suspects_;
};

}  // namespace

std::vector<MutantFate> try_mutants(const Task& task, TrialCases& cases, int64_t draws, bool timed) {
  return MutantTrial(task, cases, draws).run(timed);
}

}  // namespace temper::env
