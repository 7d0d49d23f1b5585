#pragma once
// The clock of every timed call.

#include <chrono>
#include <ctime>

namespace temper::env {

// CLOCK_MONOTONIC_RAW: not slewed by the machine's time synchronisation.
inline std::chrono::nanoseconds raw_clock() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace temper::env
