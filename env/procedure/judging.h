#pragma once
// What all judging procedures share: secret seeds, and the evaluation of timed pairs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "env/call/case.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper::env {

// Adds to a fault how the buffers of the call lay. It is likely, and not known, that an access outside one of them was
// the cause.
void tell_gap(Finding& fault, Placement placement);

// The naive verdict on a right candidate with these times. It is not a pass if one of them is not a valid time, for
// example if a call took no longer than an empty one.
NaiveVerdict naive_of_times(double candidate_us, double baseline_us);

// Drawn after the candidate was compiled, and never given to a process that runs it.
uint64_t secret_seed();

// When pairs are enough; on a core.
struct Pace {
  double long_us = 500;  // what takes longer and is slow needs fewer
  double tight = 0.04;   // as enough_pairs (env/verdict/timing.h)
};

// What a task asks of the machine, microseconds.
struct TimeBounds {
  double floor_us = 0;  // below it nothing honest runs
  double roof_us = 0;   // as Verdict::roof_us
};

// Times of candidate and baseline on the same inputs, microseconds. The first pair warms up and counts for
// nothing, unless the candidate is so slow that this does not show.
class TimedPairs {
 public:
  explicit TimedPairs(const Pace& pace = {}) : pace_(pace) {}
  // If the candidate's time is impossible (not above 0, or not finite) the timing ends and weigh() finds a HACK.
  // Errors: WorldError if the baseline's time is impossible, because that is our failure.
  void add(double candidate_us, double baseline_us);
  int64_t made() const { return std::ssize(candidate_us_); }
  bool empty() const { return candidate_us_.empty(); }
  bool baseline_first() const { return candidate_us_.size() % 2 == 1; }  // in the next pair: ABBA
  // enough_pairs; two or three of what takes long and is slow, unless a number is set.
  bool enough(int64_t min_pairs, int64_t max_pairs) const;
  const std::vector<double>& ratios() const { return ratios_; }  // baseline / candidate
  // Whether the candidate's last times all lie above or all below its first, by half as much again, and the
  // baseline's do not go along: thirds of the pairs.
  bool unsteady() const;
  // Whether the pairs disagree and the baseline's own times show that the machine is the cause.
  bool disagree() const;
  // Into the verdict, with the bounds. Finds what runs below the floor, and what is faster than the task's cap.
  Found weigh(const Task& task, const TimeBounds& bounds, Verdict& verdict) const;

 private:
  // The times that count, of all.
  std::vector<double> counted(const std::vector<double>& times) const;

  Pace pace_;
  std::vector<double> candidate_us_, baseline_us_, ratios_;
  std::optional<double> impossible_us_;  // the candidate's
};

}  // namespace temper::env
