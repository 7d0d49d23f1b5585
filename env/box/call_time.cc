#include "env/box/call_time.h"

#include <unistd.h>

#include <algorithm>

#include "env/box/clock.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kHandOver{200'000};  // more than one ever takes by itself

nanoseconds waited(const SchedStat& turns) {
  const auto times = turns.read();
  return times ? times->delayed : nanoseconds(0);
}

}  // namespace

bool CallTime::idle() const { return wall - cpu - waited > cpu + kHandOver; }

nanoseconds CallTime::counted() const { return idle() ? wall : cpu; }

nanoseconds least_wall(const std::vector<CallTime>& calls) {
  return std::ranges::min_element(calls, {}, &CallTime::wall)->wall;
}

CallWatch::CallWatch(pid_t process) : clock_(process), turns_(process), own_turns_(::gettid()) {}

void CallWatch::start() {
  if (asks_turns_) start_.waited = waited(turns_) + waited(own_turns_);
  start_.cpu = clock_.read();
  start_.wall = raw_clock();
}

CallTime CallWatch::stop() {
  CallTime time;
  time.wall = raw_clock() - start_.wall;
  const auto end = clock_.read();
  time.cpu = end && start_.cpu ? *end - *start_.cpu : time.wall;
  if (asks_turns_) time.waited = waited(turns_) + waited(own_turns_) - start_.waited;
  asks_turns_ = asks_turns_ || time.idle();
  return time;
}

}  // namespace temper::env
