#pragma once
// The time that a call of another process takes: by the clock, and by the CPU time that the kernel accounts to that
// process, which nothing inside it can change.

#include <sys/types.h>

#include <chrono>
#include <ctime>
#include <optional>
#include <vector>

#include "env/box/sched_stat.h"

namespace temper::env {

struct CallTime {
  std::chrono::nanoseconds wall{0};
  std::chrono::nanoseconds cpu{0};  // CPU time of the called process, all its threads together
  // While it or the caller was ready to run, and others had the core: where that was asked, see CallWatch.
  std::chrono::nanoseconds waited{0};
  // The processor's time, which neighbours on the core do not make longer. The wall's where the process neither
  // computed nor waited for its turn for longer than it computed, and for more than a hand-over takes: idling
  // costs what it takes.
  std::chrono::nanoseconds counted() const;
  bool idle() const;
};

// The least by the wall's clock. Not empty.
std::chrono::nanoseconds least_wall(const std::vector<CallTime>& calls);

// Times calls of one process, one after another. Who waited for a turn is asked once a call has looked idle:
// asking takes as long as a short call.
class CallWatch {
 public:
  CallWatch() = default;
  explicit CallWatch(pid_t process);
  void start();
  // The time since start(). If the kernel has no CPU time for the process, because it has ended, `cpu` is `wall`.
  CallTime stop();

 private:
  struct Reading {
    std::chrono::nanoseconds wall, waited;
    std::optional<std::chrono::nanoseconds> cpu;
  };
  ProcessClock clock_;
  SchedStat turns_, own_turns_;  // of the process and of the caller
  bool asks_turns_ = false;
  Reading start_{};
};

}  // namespace temper::env
