#pragma once
// What the kernel counts of a thread and of a process, which nothing inside them can change.

#include <sys/types.h>
#include <time.h>

#include <chrono>
#include <optional>

#include "base/process.h"

namespace temper::env {

// Since the thread began. What goes on is counted at its next turn on a core, its next offer of the core, or a tick of the clock.
struct ThreadTimes {
  std::chrono::nanoseconds ran{0};      // on a core
  std::chrono::nanoseconds delayed{0};  // ready to run, while others had the cores: the scheduler's run_delay
};

class SchedStat {
 public:
  SchedStat() = default;
  explicit SchedStat(pid_t thread);  // of a process: its first thread
  // Nothing where the kernel does not count, or no longer.
  std::optional<ThreadTimes> read() const;

 private:
  Fd file_;
};

// The CPU time of a process, all its threads together.
class ProcessClock {
 public:
  ProcessClock() = default;
  explicit ProcessClock(pid_t process);
  // Nothing where the process is gone.
  std::optional<std::chrono::nanoseconds> read() const;

 private:
  std::optional<clockid_t> clock_;
};

}  // namespace temper::env
