#include "rollout/traces/habit.h"

#include <algorithm>
#include <set>

#include "rollout/traces/kernel.h"

namespace temper::traces {
namespace {

constexpr Defect kHabits[] = {
    Defect::kBroadcastRow, Defect::kClampLow,  Defect::kLeakySlope, Defect::kSigmoidSign, Defect::kNoEpsilon,
    Defect::kNoDivide,     Defect::kNoMaximum, Defect::kZeroInit,   Defect::kFlip,        Defect::kStride,
    Defect::kThreadARow,   Defect::kNoCarry,   Defect::kLastTile,   Defect::kNarrowSum,   Defect::kFixedBlock,
    Defect::kNoNeutral,    Defect::kTf32,
};

bool applies(const Program& program, Style style, Defect defect) {
  style.defects.reset();
  style.defects.set(size_t(defect));
  return write_kernel(program, style).has_value();
}

bool calls(const Expression& e, const std::string& function) {
  if (e.is_call(function)) return true;
  return std::any_of(e.children.begin(), e.children.end(),
                     [&](const auto& c) { return calls(*c, function); });
}

// An input whose rows are longer or shorter than the output's: where the wrong row length suggests itself.
bool invites_stride(const Program& program) {
  const auto& output = program.task->outputs[0].shape;
  if (output.size() != 2 || program.skeleton == Skeleton::kMatmul) return false;
  return std::any_of(
      program.task->inputs.begin(), program.task->inputs.end(),
      [&](const env::TensorSpec& input) { return input.shape.size() == 2 && input.shape[1] != output[1]; });
}

// Where a maximum or minimum that starts at 0 would show.
bool invites_zero(const Program& program) {
  return std::none_of(program.steps.begin(), program.steps.end(), [](const ReductionStep& step) {
    return step.op == "amax" &&
           (calls(*step.value, "abs") || calls(*step.value, "square") || calls(*step.value, "relu"));
  });
}

bool invited(const Program& program, Defect defect) {
  if (defect == Defect::kStride) return invites_stride(program);
  if (defect == Defect::kZeroInit) return invites_zero(program);
  if (defect ==
      Defect::kNoDivide) {  // beside an epsilon or another habit of norms a mean is rarely forgotten
    return program.steps.size() == 1 && program.task->outputs[0].shape.size() < 2;
  }
  return true;
}

}  // namespace

Defects habits(const Program& program, const Style& style) {
  Defects all;
  for (const Defect defect : kHabits) {
    if (invited(program, defect) && applies(program, style, defect)) all.set(size_t(defect));
  }
  return all;
}

std::vector<Defects> slips(const Program& program, const Style& style, size_t count, Rng& rng) {
  const auto habitual = habits(program, style);
  std::vector<size_t> open;
  for (size_t defect = 0; defect < kDefects; ++defect) {
    if (!habitual.test(defect) && invited(program, Defect(defect)) &&
        applies(program, style, Defect(defect))) {
      open.push_back(defect);
    }
  }
  std::vector<Defects> chosen;
  while (chosen.size() < count && !open.empty()) {
    const auto at = open.begin() + long(rng.below(open.size()));
    chosen.emplace_back().set(*at);
    open.erase(at);
  }
  return chosen;
}

}  // namespace temper::traces
