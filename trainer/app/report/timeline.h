#pragma once
// Where a run's wall-clock time went, by the moments that its event files name and the seconds in its
// metrics.

#include "trainer/app/report/run_record.h"

namespace temper {

// From the first to the last line of each start of the program; what lies between two starts is not in it.
struct Timeline {
  double began_s = 0, ended_s = 0;  // since 1970, of the first and the last line; 0: no event file says it
  int64_t starts = 0;

  double start = 0;  // before the first figures: tasks are read, the cold start's examples made and judged
  double cold_start = 0, generate = 0, judge = 0, learn = 0;
  double rest_of_steps = 0, evaluate = 0;
  double other = 0;  // what no line accounts for
  double total() const {
    return start + cold_start + generate + judge + learn + rest_of_steps + evaluate + other;
  }
};

// Of a run without event files: the seconds that its metrics name. Of an event file that was broken off: what
// is whole.
Timeline timeline_of(const RunRecord& run);

}  // namespace temper
