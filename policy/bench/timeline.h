#pragma once
// How the time of a GPU divides between computing, moving data that nothing is computed beside, and neither.

#include <cstdint>
#include <string>
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

// A kernel or a copy.
struct DeviceWork {
  Interval time;
  std::string kind;
  bool moves = false;  // data between GPUs or between host and GPU, else it computes
};

// Of what moves data, or of what computes.
std::vector<Interval> times_of(const std::vector<DeviceWork>& work, bool moves);

// The stretches in which nothing computes, between a kernel of one kind and one of another.
struct Wait {
  std::string before, after;  // kinds; "begin" and "end" where no kernel computes before or after
  long count = 0;
  double exposed_s = 0, idle_s = 0;  // of all of them, as a Timeline's
};

// By the two kinds, the longest in sum first. Together they are all of a Timeline's exposed_s and idle_s.
std::vector<Wait> waits_between(std::vector<DeviceWork> work);

}  // namespace temper::policy
