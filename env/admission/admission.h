#pragma once
// Whether a task may be asked: its reference must run and every input matter, what does not do its work must
// fail it, and eager must take long enough to be timed.

#include <functional>
#include <string>
#include <vector>

#include "env/judge.h"
#include "env/task.h"

namespace temper {

inline constexpr double kLeastEager_us = 20;

struct TrivialSolver {
  std::string name;  // nothing, zeros, ones, input_copy, input_mean
  std::string source;
};
std::vector<TrivialSolver> trivial_solvers(const Task& task);

struct Admission {
  std::string task;
  double eager_us = 0;                // the fastest of some calls at the timed shape; 0: not timed
  std::vector<std::string> problems;  // empty: admitted
};

// One row a task, in order. A task whose reference does not run, or ignores an input, is not tried further.
// `progress(done, all)` counts what is judged and timed; what it throws ends all.
// Errors: WorldError if a solver cannot be judged; ConfigError if the judge's options contradict each other, or a task
// is for GPUs.
std::vector<Admission> admit(const JudgeOptions& options, const std::vector<Task>& tasks,
                             const std::function<void(int64_t, int64_t)>& progress = {});

}  // namespace temper
