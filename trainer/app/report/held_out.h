#pragma once
// Held-out scores before and after, over the seeds of a group.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "trainer/app/report/curves.h"
#include "trainer/app/report/groups.h"

namespace temper::trainer {

// A metric of val/*, such as "correct" or "fast_1.2", over a group's runs; its count is 0 if no run has it.
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

// 95 % interval of a share that was seen in `count` answers, for answers that do not hang together.
// Source:  Wilson 1927, score interval
struct ShareInterval {
  double low = 0, high = 1;
};
ShareInterval wilson_interval(double share, int64_t count);

// For one task, the numbers of sampled trajectories that were judged, and of those whose last answer passes, pooled
// over a group's runs.
struct TaskTally {
  int64_t passed = 0, judged = 0;
  double log_speedup = 0;  // summed over those that pass

  double rate() const { return judged > 0 ? double(passed) / double(judged) : -1; }  // −1: not evaluated
  double speedup() const;  // geometric mean over the passing ones; 0 if there are none
};

// Counts over an evaluation's trajectories.
struct EvaluationTally {
  std::map<std::string, TaskTally> tasks;
  std::map<std::string, int64_t> answers;  // judged, by answer_kinds' prefix
};
// `name` is that of a file of trajectories, "eval_before" or "eval_after". What cannot be read is added to
// `problems`.
EvaluationTally tally_of(const RunGroup& group, const std::string& name, std::vector<std::string>& problems);

// The family of each task that the runs were given, as their files of tasks say now; nothing of files that
// are not here.
std::map<std::string, std::string> task_families(const std::vector<RunGroup>& groups);

}  // namespace temper::trainer
