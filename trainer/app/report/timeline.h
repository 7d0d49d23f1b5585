#pragma once
// Where a run's wall-clock time went, by the moments that its event files name and the seconds in its
// metrics.

#include "trainer/app/report/run_record.h"

namespace temper::trainer {

// The time from the first to the last line of each start of the program. Time between two starts is not included.
struct Timeline {
  double began_s = 0, ended_s = 0;  // Unix times of the first and the last line; 0 without event files
  int64_t starts = 0;

  double start = 0;  // before the first figures: tasks are read, the cold start's examples made and judged
  double cold_start = 0, generate = 0, judge = 0, learn = 0;
  double rest_of_steps = 0, evaluate = 0;
  double other = 0;  // what no line accounts for
  double total() const {
    return start + cold_start + generate + judge + learn + rest_of_steps + evaluate + other;
  }
};

// The timeline of a run. Without event files it is made from the seconds in the metrics. From an event file that was
// cut short the complete part is used.
Timeline timeline_of(const RunRecord& run);

}  // namespace temper::trainer
