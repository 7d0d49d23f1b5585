#pragma once
// Decides whether a task is admitted: its reference must run, every input must matter, solvers that do not do the work
// must fail, and eager must take long enough to be timed.

#include <functional>
#include <string>
#include <vector>

#include "env/admission/mutant_fate.h"
#include "env/judge/judge.h"
#include "env/task/task.h"

namespace temper::env {

inline constexpr double kLeastEager_us = 20;

struct TrivialSolver {
  std::string name;  // nothing, zeros, ones, input_copy, input_mean
  std::string source;
};
// The trivial solvers as candidates for a task on CPUs.
std::vector<TrivialSolver> trivial_solvers(const Task& task);

struct Admission {
  std::string task;
  double eager_us = 0;                // the fastest of several calls at the first timed shape; 0 if not timed
  double floor_us = 0;                // GPU tasks: what an H200 needs for the bytes and the arithmetic
  double allowed = 0;                 // GPU tasks: the largest relative error that passes
  bool timed = false;                 // GPU tasks: whether trivial solvers were tried at each timed shape
  std::vector<std::string> problems;  // empty: admitted
  std::vector<MutantFate> mutants;    // where known short-cuts were tried
};

// `progress(done, all)` counts what is judged and timed; what it throws ends all.
using AdmissionProgress = std::function<void(int64_t, int64_t)>;

// Returns one row per task, in order. A task whose reference does not run, or ignores an input, is not tried further.
// Tasks for GPUs are tried on a GPU if there is one, and else on the CPU without being timed. Known short-cuts
// (env/admission/trial/mutants.h) must be refused within `mutant_draws` draws of the check shapes, and of the timed one; with 0
// they are not tried.
// Errors: WorldError if a solver cannot be judged; ConfigError if the judge's options contradict each other.
std::vector<Admission> admit(const JudgeOptions& options, const std::vector<Task>& tasks,
                             const AdmissionProgress& progress = {}, int64_t mutant_draws = 0);

}  // namespace temper::env
