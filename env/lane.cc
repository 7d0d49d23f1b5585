#include "env/lane.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/machine/messages.h"

namespace temper {
namespace {

constexpr double kStartPatience_s = 120;

}  // namespace

Lane::Lane(const LaneSetup& setup, double patience_s) : setup_(to_text(setup)), patience_s_(patience_s) {
  start();
}

void Lane::start() {
  state_ = State::kDead;
  broker_ = Subprocess::start({(executable_dir() / "temper-broker").string()});
  if (!send_message(broker_.socket(), setup_)) throw WorldError("the broker ended at its start");
  state_ = State::kStarting;
  deadline_s_ = now_s() + kStartPatience_s;
}

void Lane::restart() {
  broker_.kill();
  start();
}

std::optional<std::string> Lane::message() {
  const double left_s = std::max(0.0, deadline_s_ - now_s());
  return receive_message(broker_.socket(), std::chrono::milliseconds(int64_t(left_s * 1e3)));
}

void Lane::finish_start() {
  state_ = State::kDead;
  const auto text = message();
  if (!text) throw WorldError("a broker does not start");
  ready_ = lane_ready_from(*text);
  if (ready_.user_error) throw ConfigError("{}", ready_.error);
  if (!ready_.error.empty()) throw WorldError("{}", ready_.error);
  state_ = State::kIdle;
}

bool Lane::assign(const LaneRequest& request) {
  deadline_s_ = now_s() + patience_s_;
  state_ = send_message(broker_.socket(), to_text(request)) ? State::kBusy : State::kDead;
  return state_ == State::kBusy;
}

std::optional<LaneAnswer> Lane::receive() {
  state_ = State::kDead;
  const auto text = message();
  if (!text) return std::nullopt;
  state_ = State::kIdle;
  return lane_answer_from(*text);
}

}  // namespace temper
