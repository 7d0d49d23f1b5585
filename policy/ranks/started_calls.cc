#include "policy/ranks/started_calls.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/process.h"
#include "policy/ranks/activity.h"
#include "policy/ranks/transport.h"

namespace temper::policy {
namespace {

constexpr auto kLook = std::chrono::milliseconds(5);
constexpr int kSpins = 1000;
constexpr auto kNap = std::chrono::microseconds(50);

void throw_failed_call() {
  if (const std::string why = failed_call(); !why.empty()) throw LostRanks("{}", why);
}

}  // namespace

StartedCalls::StartedCalls(std::function<void()> begin_thread)
    : begin_thread_(std::move(begin_thread)), thread_([this] { run(); }) {}

StartedCalls::~StartedCalls() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  device_waits_in(nullptr);
}

void StartedCalls::add(std::shared_ptr<StartedCall> call, const char* kind, const char* what,
                       double deadline_s) {
  {
    const std::scoped_lock lock(mutex_);
    in_flight_.push_back({std::move(call), kind, what, deadline_s});
  }
  changed_.notify_all();
}

void StartedCalls::wait_for_all() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return in_flight_.empty(); });
  throw_failed_call();
}

void StartedCalls::run() {
  begin_thread_();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (in_flight_.empty()) {
      changed_.wait(lock, [this] { return stopping_ || !in_flight_.empty(); });
      continue;
    }
    // Outside of the lock, so that nobody who adds a call waits for the device.
    InFlight first = in_flight_.front();
    lock.unlock();
    const bool done = look(first);
    lock.lock();
    if (done) {
      in_flight_.pop_front();
      changed_.notify_all();
      continue;
    }
    in_flight_.front().running_s = first.running_s;
    changed_.wait_for(lock, kLook, [this] { return stopping_; });
  }
}

// Whether the oldest call is done or given up. The others run behind it.
bool StartedCalls::look(InFlight& first) {
  try {
    const StartedCall::State state = first.call->state();
    if (state == StartedCall::State::kDone) {
      device_waits_in(nullptr);
      made_progress();
      return true;
    }
    if (state == StartedCall::State::kQueued) return false;
    if (first.running_s < 0) first.running_s = now_s();
    device_waits_in(first.what);
    if (now_s() - first.running_s <= first.deadline_s) return false;
    fail(fmt::format("the {} \"{}\" did not end within {:.0f} s", first.kind, first.what, first.deadline_s));
  } catch (const std::exception& e) {
    fail(fmt::format("the {} \"{}\": {}", first.kind, first.what, e.what()));
  }
  return true;
}

// The main thread may wait for the device in any of them: all are ended. It learns why in its next collective call,
// and the watch at once.
void StartedCalls::fail(const std::string& why) {
  report_failed_call(why);
  device_waits_in(nullptr);
  std::deque<InFlight> all;
  {
    const std::scoped_lock lock(mutex_);
    all = in_flight_;
  }
  for (const InFlight& one : all) one.call->give_up();
}

void rest_between_looks(int64_t looks) {
  if (looks > kSpins) std::this_thread::sleep_for(kNap);
}

void wait_on_host(StartedCall& call) {
  for (int64_t tries = 0; call.state() != StartedCall::State::kDone; ++tries) {
    throw_failed_call();
    rest_between_looks(tries);
  }
  throw_failed_call();
}

}  // namespace temper::policy
