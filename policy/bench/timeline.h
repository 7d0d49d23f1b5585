#pragma once
// How the time of a GPU divides between computing, moving data that nothing is computed beside, and neither.

#include <cstdint>
#include <vector>

namespace temper::policy {

struct Interval {
  uint64_t begin = 0, end = 0;  // ns
};

// Of the time from the first begin to the last end.
struct Timeline {
  double all_s = 0;
  double computing_s = 0;  // at least one kernel computes
  double exposed_s = 0;    // none does, and data moves between GPUs or between host and GPU
  double idle_s = 0;       // neither: the GPU waits for the host
};

Timeline divide(std::vector<Interval> computing, const std::vector<Interval>& moving);

}  // namespace temper::policy
