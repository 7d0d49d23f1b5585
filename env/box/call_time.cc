#include "env/box/call_time.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "env/box/clock.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kHandOver{200'000};  // more than one ever takes by itself

Fd turns_of(pid_t task) {
  return Fd(::open(fmt::format("/proc/{}/schedstat", task).c_str(), O_RDONLY | O_CLOEXEC));
}

// The second number: how long the task was ready and did not run.
nanoseconds waited(const Fd& turns) {
  char text[96] = {};
  if (!turns || ::pread(turns.get(), text, sizeof text - 1, 0) <= 0) return nanoseconds(0);
  char* rest = text;
  std::strtoll(rest, &rest, 10);
  return nanoseconds(std::strtoll(rest, &rest, 10));
}

}  // namespace

bool CallTime::idle() const { return wall - cpu - waited > cpu + kHandOver; }

nanoseconds CallTime::counted() const { return idle() ? wall : cpu; }

nanoseconds least_wall(const std::vector<CallTime>& calls) {
  return std::ranges::min_element(calls, {}, &CallTime::wall)->wall;
}

CallWatch::CallWatch(pid_t process) : turns_(turns_of(process)), own_turns_(turns_of(::gettid())) {
  if (clockid_t clock = 0; ::clock_getcpuclockid(process, &clock) == 0) clock_ = clock;
}

std::optional<nanoseconds> CallWatch::cpu() const {
  timespec used{};
  if (!clock_ || ::clock_gettime(*clock_, &used) != 0) return std::nullopt;
  return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

void CallWatch::start() {
  if (asks_turns_) start_.waited = waited(turns_) + waited(own_turns_);
  start_.cpu = cpu();
  start_.wall = raw_clock();
}

CallTime CallWatch::stop() {
  CallTime time;
  time.wall = raw_clock() - start_.wall;
  const auto end = cpu();
  time.cpu = end && start_.cpu ? *end - *start_.cpu : time.wall;
  if (asks_turns_) time.waited = waited(turns_) + waited(own_turns_) - start_.waited;
  asks_turns_ = asks_turns_ || time.idle();
  return time;
}

}  // namespace temper::env
