#pragma once
// The judge's side of one broker: started, given one candidate at a time, restarted when it dies.

#include <optional>
#include <string>

#include "base/process.h"
#include "env/lane_messages.h"

namespace temper {

class Lane {
 public:
  // Starts the broker and returns at once. `patience_s` bounds the judging of one candidate.
  Lane(const LaneSetup& setup, double patience_s);

  enum class State { kStarting, kIdle, kBusy, kDead };
  State state() const { return state_; }
  int socket() const { return broker_.socket(); }
  double deadline_s() const { return deadline_s_; }  // on now_s's clock, while starting or busy

  // While starting, once the socket is readable or the deadline has passed. Errors: ConfigError, WorldError:
  // the lane is dead then.
  void finish_start();
  const LaneReady& ready() const { return ready_; }

  bool assign(const LaneRequest& request);  // false: the broker is gone
  // While busy, once the socket is readable or the deadline has passed: nothing if the broker died or hung.
  std::optional<LaneAnswer> receive();
  void restart();

 private:
  void start();
  std::optional<std::string> message();

  std::string setup_;
  double patience_s_, deadline_s_ = 0;
  State state_ = State::kDead;
  Subprocess broker_;
  LaneReady ready_;
};

}  // namespace temper
