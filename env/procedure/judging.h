#pragma once
// What all judging procedures share: secret seeds, and the evaluation of timed pairs.

#include <cstdint>
#include <map>
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

// Names the shape of the call in what was found, by its number (shape_of in env/task/task.h), if it is one of several timed
// ones. Those are known to the policy; check shapes are not.
void tell_shape(Finding& found, const Task& task, int32_t shape);

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

// The times at a task's timed shapes, and what they are together. Those of one shape alone are the verdict's. Of several:
//   speedup                    the geometric mean of the shapes' speedups
//   speedup_low, speedup_high  the geometric means of the ends of their intervals
//   candidate_us, baseline_us, floor_us, roof_us, pairs    sums
//   noise                      the largest
//   profile_share              the smallest, so that a shape that was not profiled leaves none
//   audited                    whether it was at any shape
// The interval covers the mean at least as often as each shape's covers its own speedup, however their errors go together:
// the standard deviation of a mean of logarithms is at most the mean of their standard deviations. Were the errors
// independent, a narrower interval would do. Nobody knows that, because one machine in one state times all shapes.
class ShapeTimes {
 public:
  // Moves a shape's times out of a verdict, so that the next shape's can come in.
  void take(size_t index, const Shape& sizes, Verdict& verdict);
  void give(Verdict& verdict) const;  // the times of all shapes that were taken

 private:
  struct Taken {
    ShapeTime time;
    double floor_us = 0, noise = 0, profile_share = -1;
    int64_t pairs = 0;
    bool audited = false;
  };
  std::map<size_t, Taken> taken_;  // by the shape's index among the timed ones
};

}  // namespace temper::env
