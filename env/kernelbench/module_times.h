#pragma once
// Times of a module's calls, in pairs with the baseline's on the same inputs.

#include <vector>

#include "env/kernelbench/candidate_process.h"
#include "env/procedure/judging.h"

namespace temper::env {

// What a call costs besides computing, in microseconds. It is the difference between what the clock reads for a call of the
// baseline and what the baseline's own process measures of it. Only the baseline is trusted to measure itself. An empty call would
// cost less, because on a GPU work is slower at first when another process has just had its turn. It is measured in the same
// pairs that it is taken from: other processes that start or end on the GPU change it.
struct ModuleOverhead {
  double call_us = 0;
  double call_spread_us = 0;
};

class ModulePairs {
 public:
  // The baseline's call has said what its module took itself ("own_us"). Errors: WorldError where that cannot be.
  void add(const CandidateProcess::Call& candidate, const CandidateProcess::Call& baseline);
  bool baseline_first() const { return candidate_.size() % 2 == 1; }  // in the next pair: ABBA
  bool enough(int64_t min_pairs, int64_t max_pairs) const;

  ModuleOverhead overhead() const;
  // Whatever the candidate computes before the inputs are said to be there, or after the result is, makes its whole calls longer
  // than the baseline's. It is told from whole calls together, because the rest of one call varies by more than a short module
  // takes. Less than 50 us of it is not told.
  double late_us() const;
  // What calls take beyond the overhead, with what is late.
  TimedPairs times() const;
  // With the floor lowered by what the overhead varies by: an honest call may seem to take so much less than it does.
  TimeBounds bounds_of(TimeBounds exact) const;
  // Whether work goes on after calls have said that they are done: then they nearly always take longer besides their work than
  // those of the baseline. On a busy machine some calls of both take long. Of few pairs it may be so by chance. What calls wait for
  // cores that others have is no work, and one process may wait in all of its calls while the other never does, by the core on which
  // it is. So it is taken off; only the kernel and the broker have counted it.
  bool works_on() const;
  // Whether calls are late, but would not be if threads of the candidate's own had not run meanwhile: it may have waited for these.
  // That may be work, and may be honest threads that spin on a busy machine, so that it accuses nobody.
  bool may_work_on() const;

 private:
  struct Times {
    double us = 0, rest_us = 0, waited_us = 0, helpers_us = 0;
    double least_late_us() const;  // without all that it has waited
    double most_late_us() const;   // without what it has waited for others than its own threads
  };
  static Times times_in(const CandidateProcess::Call& call);
  static double time_of(const Times& call, const ModuleOverhead& overhead);
  static double rest_of(const std::vector<Times>& calls);
  template <class Rest>
  static double range_us(const std::vector<Times>& calls, const Rest& rest_of_call);
  template <class Rest>
  bool nearly_always_late(const Rest& rest_of_call) const;

  std::vector<Times> candidate_, baseline_;
  std::vector<double> own_us_;  // the baseline's
};

}  // namespace temper::env
