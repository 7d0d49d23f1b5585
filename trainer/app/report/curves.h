#pragma once
// Metrics of one run or several as lines that a screen can show.

#include <cstdint>
#include <vector>

#include "trainer/app/report/run_record.h"

namespace temper::trainer {

// Mean and sample standard deviation; spread 0 where there is one value or none.
struct MeanSpread {
  double mean = 0, spread = 0;
  int64_t count = 0;
};
MeanSpread mean_spread(const std::vector<double>& values);

struct CurveOptions {
  int64_t points = 240;  // most points of a line; steps are combined in bins of equal length
  double smooth = 0;     // width of a moving mean as a share of the line; 0 for none
};

// Points with the same index belong together. low and high, empty for a single run: one sample standard
// deviation over the runs below and above the mean; raw_low and raw_high, empty for several or where nothing
// is smoothed: the least and the largest value of the steps that a point stands for.
struct Curve {
  std::vector<double> step, mean, low, high, raw_low, raw_high;
};

// The mean over runs of their smoothed bins. The line ends with the shortest run where all are about as long,
// else where fewer than half of them have values. Values that are not finite are left out. `last_step` fixes
// the bins, so that lines of one report have the same.
Curve make_curve(const std::vector<const Series*>& runs, int64_t last_step, const CurveOptions& options);

// Of metrics that few steps have, evaluations: the mean over runs of their first values, at the mean of their
// steps, then of their second ones, and so on. Runs that the clock ended have their last at different steps.
Curve make_evaluation_curve(const std::vector<const Series*>& runs);

// Parts of a whole over steps, the mean over runs: values[part][point]. A part that a step does not name is 0
// there.
struct Stack {
  std::vector<double> step;
  std::vector<std::vector<double>> values;
};
// parts[part][run]; null: the run never named it. Steps are those of `whole`, the series of each run that
// every step has.
Stack make_stack(const std::vector<std::vector<const Series*>>& parts,
                 const std::vector<const Series*>& whole, int64_t last_step, int64_t points);

}  // namespace temper::trainer
