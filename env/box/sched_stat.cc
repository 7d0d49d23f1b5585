#include "env/box/sched_stat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "env/box/clock.h"

namespace temper::env {

using std::chrono::nanoseconds;

SchedStat::SchedStat(pid_t thread)
    : file_(::open(fmt::format("/proc/{}/schedstat", thread).c_str(), O_RDONLY | O_CLOEXEC)) {}

std::optional<ThreadTimes> SchedStat::read() const {
  char text[96] = {};
  if (!file_ || ::pread(file_.get(), text, sizeof text - 1, 0) <= 0) return std::nullopt;
  char* rest = text;
  ThreadTimes times;
  times.ran = nanoseconds(std::strtoll(rest, &rest, 10));
  times.delayed = nanoseconds(std::strtoll(rest, &rest, 10));
  return times;
}

ProcessClock::ProcessClock(pid_t process) {
  if (clockid_t clock = 0; ::clock_getcpuclockid(process, &clock) == 0) clock_ = clock;
}

std::optional<nanoseconds> ProcessClock::read() const {
  timespec used{};
  if (!clock_ || ::clock_gettime(*clock_, &used) != 0) return std::nullopt;
  return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

}  // namespace temper::env
