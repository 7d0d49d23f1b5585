#include "env/judge/broker_client.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace temper::env {
namespace {

constexpr double kStartPatience_s = 120;
constexpr double kRest_s = 5;     // for the rest of a message that has begun to arrive
constexpr double kLeaving_s = 2;  // for one that has closed its socket to end
constexpr int kMaxFailures = 6;   // in a row
constexpr int kReads = 64;        // reads from a socket per call of attend()
constexpr double kNever = std::numeric_limits<double>::infinity();

std::string broker_program(const BrokerClientOptions& options) {
  return options.program.empty() ? (executable_dir() / "temper-broker").string() : options.program;
}

std::string machine_text(const LaneReady& ready) {
  std::string text = ready.machine;
  for (const auto& [language, compiler] : ready.gpu_compilers) text += (text.empty() ? "" : "; ") + compiler;
  return text;
}

// Whether verdicts of the two brokers are comparable.
bool judge_alike(const LaneReady& a, const LaneReady& b) {
  return a.level == b.level && a.machine == b.machine && a.gpu_compilers == b.gpu_compilers &&
         a.gpu_uuid == b.gpu_uuid && a.gpu_target == b.gpu_target;
}

}  // namespace

BrokerClient::BrokerClient(const LaneSetup& setup, const BrokerClientOptions& options)
    : setup_(to_text(setup)), options_(options) {
  start();
}

bool BrokerClient::given_up() const { return state_ == State::kDead && failures_ >= kMaxFailures; }

short BrokerClient::events() const { return short(POLLIN | (writer_.left() > 0 ? POLLOUT : 0)); }

double BrokerClient::due_s() const { return state_ == State::kIdle || given_up() ? kNever : deadline_s_; }

void BrokerClient::start() {
  reader_ = {};
  writer_ = {};
  try {
    broker_ = Subprocess::start({broker_program(options_)});
  } catch (const std::exception& e) {
    return die(e.what());
  }
  state_ = State::kStarting;
  deadline_s_ = now_s() + kStartPatience_s;
  if (!writer_.add(setup_) || !writer_.send(broker_.socket())) die("it took no tasks", Death::kLeft);
}

void BrokerClient::die(const std::string& words, Death death) {
  const std::string ending = broker_.end(death == Death::kLeft ? kLeaving_s : 0);
  const bool judged = state_ == State::kBusy;  // which may be the candidate's doing
  broker_ = {};
  state_ = State::kDead;
  died_ = true;
  last_words_ = ending.empty() || death == Death::kItsOwnWords ? words : words + "; it " + ending;
  if (!judged) ++failures_;
  deadline_s_ = now_s() + (judged ? 0 : options_.restart_s * std::pow(2, failures_ - 1));
}

void BrokerClient::assign(const LaneRequest& request) {
  TEMPER_CHECK(state_ == State::kIdle);
  state_ = State::kBusy;
  deadline_s_ = now_s() + options_.patience_s;
  // If the broker is gone, attend() will notice it.
  if (!writer_.add(to_text(request)))
    die("it was given more than a message holds");
  else
    writer_.send(broker_.socket());
}

BrokerClient::News BrokerClient::attend() {
  News news;
  if (lives()) talk(news);
  // A broker that was never ready is not restarted: its error is reported at the start. Later deaths are retried.
  if (!lives() && now_s() >= due_s() && was_ready_) start();
  news.died = std::exchange(died_, false);
  return news;
}

void BrokerClient::talk(News& news) {
  const uint64_t before = reader_.bytes();
  const bool sent = writer_.send(broker_.socket());
  const bool there = read(news);
  if (!lives()) return;
  if (!sent || !there) return die("a judge's broker left", Death::kLeft);
  if (now_s() < due_s()) return;
  if (reader_.bytes() > before)
    deadline_s_ = now_s() + kRest_s;
  else
    die(fmt::format("a judge's broker does not {}", state_ == State::kStarting ? "start" : "answer"));
}

// False if the broker is gone.
bool BrokerClient::read(News& news) {
  for (int i = 0; i < kReads; ++i) {
    const uint64_t before = reader_.bytes();
    const auto [messages, gone] = reader_.read(broker_.socket());
    for (const std::string& message : messages) {
      try {
        take_in(message, news);
      } catch (const std::exception& e) {
        die(fmt::format("a judge's broker sent a message that cannot be read: {}", e.what()));
      }
      if (!lives()) return true;
    }
    if (gone) return false;
    if (reader_.bytes() == before) return true;
  }
  return true;
}

void BrokerClient::take_in(const std::string& message, News& news) {
  if (state_ == State::kStarting) return take_ready(message);
  LaneAnswer answer = lane_answer_from(message);
  if (state_ != State::kBusy) throw WorldError("an answer to nothing");
  if (!answer.waits.empty()) {
    deadline_s_ = now_s() + options_.patience_s;
    news.waits = std::move(answer.waits);
    return;
  }
  state_ = State::kIdle;
  failures_ = 0;
  news.answer = std::move(answer);
}

void BrokerClient::take_ready(const std::string& message) {
  LaneReady ready = lane_ready_from(message);
  user_error_ = ready.user_error;
  if (!ready.error.empty()) return die(ready.error, Death::kItsOwnWords);
  if (was_ready_ && !judge_alike(ready_, ready))
    return die(fmt::format("a judge's broker that was started again judges otherwise: {}, and not {}",
                           machine_text(ready), machine_text(ready_)));
  if (!was_ready_) ready_ = std::move(ready);
  was_ready_ = true;
  state_ = State::kIdle;
}

}  // namespace temper::env
