#pragma once
// Whether a task may be asked: its reference must run and every input matter, what does not do its work must
// fail it, and eager must take long enough to be timed.

#include <functional>
#include <string>
#include <vector>

#include "env/admission/mutant_fate.h"
#include "env/judge/judge.h"
#include "env/task/task.h"

namespace temper {

inline constexpr double kLeastEager_us = 20;

struct TrivialSolver {
  std::string name;  // nothing, zeros, ones, input_copy, input_mean
  std::string source;
};
// As candidates for a task on CPUs.
std::vector<TrivialSolver> trivial_solvers(const Task& task);

struct Admission {
  std::string task;
  double eager_us = 0;                // the fastest of some calls at the timed shape; 0: not timed
  double floor_us = 0;                // of a GPU task: what an H200 needs for the bytes and the arithmetic
  double allowed = 0;                 // … and the largest relative error that passes
  bool timed = false;                 // … and whether trivial solvers were tried at the timed shape
  std::vector<std::string> problems;  // empty: admitted
  std::vector<MutantFate> mutants;    // where known short-cuts were tried
};

// `progress(done, all)` counts what is judged and timed; what it throws ends all.
using AdmissionProgress = std::function<void(int64_t, int64_t)>;

// One row a task, in order. A task whose reference does not run, or ignores an input, is not tried further.
// Tasks for GPUs are tried on one where there is one, else on the CPU without being timed.
// `mutant_draws`: known short-cuts (env/admission/trial/mutants.h) must be refused within that many draws of the check
// shapes, and of the timed one; 0: they are not tried.
// Errors: WorldError if a solver cannot be judged; ConfigError if the judge's options contradict each other.
std::vector<Admission> admit(const JudgeOptions& options, const std::vector<Task>& tasks,
                             const AdmissionProgress& progress = {}, int64_t mutant_draws = 0);

}  // namespace temper
