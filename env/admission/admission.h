#pragma once
// Whether a task may be asked: what does not do its work must fail it, and eager must take long enough to be
// timed. (That every input matters is checked whenever an oracle starts.)

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
  double eager_us = 0;                // the fastest of some calls at the timed shape
  std::vector<std::string> problems;  // empty: admitted
};

// Judges the trivial solvers of every task of `judge` and times its reference; one row a task, in order.
std::vector<Admission> admit(Judge& judge);

}  // namespace temper
