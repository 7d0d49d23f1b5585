#pragma once
// What the kernel counts of a thread and of a process, which nothing inside them can change, and how waiting for a core is told from
// working by it.

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

// How much of a turn went by while others had the cores, by what was counted of who had the turn when it began and when it ended. Either
// that thread was ready to run, or we were away when it was done: `unseen` went by since we had looked for its end before. The kernel
// counts a wait when it ends, so that one that had begun before the turn is a part of it. What the thread ran is none. The whole turn
// where the kernel does not count.
std::chrono::nanoseconds waited_in(std::chrono::nanoseconds turn, const std::optional<ThreadTimes>& before,
                                   const std::optional<ThreadTimes>& after, std::chrono::nanoseconds unseen);

// Tells how long a process that takes turns with us waited for a core in its turn.
class TurnWatch {
 public:
  TurnWatch() = default;
  explicit TurnWatch(pid_t process);

  // The process's turn begins: its first thread alone has something to do.
  void begin();
  // waited_in the turn that we saw end then, by raw_clock().
  std::chrono::nanoseconds waited(std::chrono::nanoseconds ended, std::chrono::nanoseconds unseen) const;

 private:
  SchedStat thread_;
  std::chrono::nanoseconds begun_{0};
  std::optional<ThreadTimes> before_;
};

}  // namespace temper::env
