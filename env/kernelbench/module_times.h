#pragma once
// Times of a module's calls, in pairs with the baseline's on the same inputs.
//
// A call's time runs from when its inputs are there until the reference has copied its outputs. What that takes beyond the module is
// what the baseline's calls take beyond what the baseline's own process measures of its module; only the baseline is trusted to
// measure itself. It is taken off both sides alike. Nothing that a candidate says shortens its time, and nothing that it does
// before the outputs are copied is free.

#include <vector>

#include "env/kernelbench/candidate_process.h"
#include "env/procedure/judging.h"

namespace temper::env {

// What a call costs besides computing, in microseconds. An empty call would cost less, because on a GPU work is slower at first when
// another process has just had its turn. It is measured in the same pairs that it is taken from: other processes that start or
// end on the GPU change it.
struct ModuleOverhead {
  double call_us = 0;
  double call_spread_us = 0;
};

class ModulePairs {
 public:
  // The baseline's call has said what its module took itself ("own_us"). Errors: WorldError where that cannot be.
  void add(const CandidateProcess::Call& candidate, const CandidateProcess::Call& baseline);
  int64_t made() const { return std::ssize(candidate_us_); }
  bool baseline_first() const { return made() % 2 == 1; }  // in the next pair: ABBA
  bool enough(int64_t min_pairs, int64_t max_pairs) const;

  ModuleOverhead overhead() const;
  TimedPairs times() const;
  // With the floor lowered by what the overhead varies by: an honest call may seem to take so much less than it does.
  TimeBounds bounds_of(TimeBounds exact) const;
  // How many of the candidate's calls took less than that floor by more than their clock varies.
  int64_t below(const TimeBounds& exact) const;
  double own_us() const;  // the baseline's module, by its own process: the median

 private:
  std::vector<double> candidate_us_, baseline_us_;  // whole
  std::vector<double> own_us_;                      // the baseline's
};

// What the baseline's process says that its module took of a call. Errors: WorldError where that cannot be.
double own_us_of(const CandidateProcess::Call& baseline);

}  // namespace temper::env
