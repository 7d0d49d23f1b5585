#pragma once
// Small batches written by hand.

#include <string>
#include <vector>

#include "rollout/trajectory.h"
#include "trainer/algorithm/turn_values.h"

namespace temper::trainer {

inline env::Verdict passed(double speedup) {
  env::Verdict verdict;
  verdict.kind = env::VerdictKind::kPass;
  verdict.speedup = verdict.speedup_low = verdict.speedup_high = speedup;
  return verdict;
}

inline env::Verdict failed(env::VerdictKind kind = env::VerdictKind::kFailIncorrect) {
  env::Verdict verdict;
  verdict.kind = kind;
  return verdict;
}

// Each turn: two prompt tokens, `plan` plan tokens, `code` code tokens.
inline rollout::Trajectory make_trajectory(const std::vector<env::Verdict>& verdicts, int plan = 1,
                                           int code = 2) {
  rollout::Trajectory trajectory;
  rollout::Segment& row = trajectory.segments.emplace_back();
  const auto append = [&row](rollout::Role role, int count) {
    for (int i = 0; i < count; ++i) {
      row.ids.push_back(int32_t(row.ids.size()) % 7);
      row.roles.push_back(role);
      row.log_probs.push_back(rollout::is_response(role) ? -1.0f : 0.0f);
    }
  };
  for (const env::Verdict& verdict : verdicts) {
    append(trajectory.turns.empty() ? rollout::Role::kPrompt : rollout::Role::kFeedback, 2);
    const auto begin = int32_t(row.ids.size());
    append(rollout::Role::kPlan, plan);
    append(rollout::Role::kCode, code);
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

}  // namespace temper::trainer
