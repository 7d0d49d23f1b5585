#pragma once
// Held-out scores before and after, over the seeds of a group.

#include <filesystem>
#include <string>
#include <vector>

#include "trainer/report/curves.h"
#include "trainer/report/groups.h"

namespace temper {

// A figure of val/*, as "correct" or "fast_1.2", over a group's runs; count 0: none of them has it.
struct BeforeAfter {
  MeanSpread before, after;
};
// `answers` is what comes before the figure: "val/sampled", "val/sampled/turn_1", "val/greedy/best", …
BeforeAfter before_after(const RunGroup& group, const std::string& answers, const std::string& figure);

// The kinds of answers that the group's runs were evaluated on, as (prefix, name for people), the first turn
// first.
std::vector<std::pair<std::string, std::string>> answer_kinds(const RunGroup& group);

// "28.1 ± 2.0 → 66.9 ± 1.1 %", "–" where there is none. A figure of one seed has no spread.
std::string before_after_text(const BeforeAfter& figure, bool percent);

// Of a task, the share of sampled trajectories whose last answer passes, pooled over a group's runs.
struct TaskRate {
  double before = -1, after = -1;  // -1: not evaluated
  double speedup = 0;              // geometric mean of the passing ones' after; 0: none
};
std::map<std::string, TaskRate> task_rates(const RunGroup& group, std::vector<std::string>& problems);

}  // namespace temper
