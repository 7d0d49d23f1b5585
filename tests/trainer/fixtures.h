#pragma once
// Small batches written by hand.

#include <string>
#include <vector>

#include "rollout/trajectory.h"
#include "trainer/algorithm/turn_values.h"

namespace temper {

inline Verdict passed(double speedup) {
  Verdict verdict;
  verdict.kind = VerdictKind::kPass;
  verdict.speedup = verdict.speedup_low = verdict.speedup_high = speedup;
  return verdict;
}

inline Verdict failed(VerdictKind kind = VerdictKind::kFailIncorrect) {
  Verdict verdict;
  verdict.kind = kind;
  return verdict;
}

// Each turn: two prompt tokens, `plan` plan tokens, `code` code tokens.
inline Trajectory make_trajectory(const std::vector<Verdict>& verdicts, int plan = 1, int code = 2) {
  Trajectory trajectory;
  Segment& row = trajectory.segments.emplace_back();
  const auto append = [&row](Role role, int count) {
    for (int i = 0; i < count; ++i) {
      row.ids.push_back(int32_t(row.ids.size()) % 7);
      row.roles.push_back(role);
      row.log_probs.push_back(is_response(role) ? -1.0f : 0.0f);
    }
  };
  for (const Verdict& verdict : verdicts) {
    append(trajectory.turns.empty() ? Role::kPrompt : Role::kFeedback, 2);
    const auto begin = int32_t(row.ids.size());
    append(Role::kPlan, plan);
    append(Role::kCode, code);
    trajectory.turns.push_back(
        {.begin = begin, .end = int32_t(row.ids.size()), .stopped = true, .verdict = verdict});
  }
  return trajectory;
}

// One reward for both streams.
inline SampleValues values(const std::vector<double>& numbers) {
  SampleValues turns;
  for (double number : numbers) turns.push_back({.plan = number, .code = number});
  return turns;
}

inline std::vector<double> codes(const SampleValues& turns) {
  std::vector<double> numbers;
  for (const TurnValue& turn : turns) numbers.push_back(turn.code);
  return numbers;
}

}  // namespace temper
