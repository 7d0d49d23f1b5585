#pragma once
// The judge's side of one broker: starts it, gives it one candidate at a time, and restarts it when it dies. No
// function blocks on the broker.

#include <optional>
#include <string>

#include "base/machine/child_process.h"
#include "base/machine/messages.h"
#include "env/judge/lane_messages.h"

namespace temper::env {

struct BrokerClientOptions {
  std::string program;  // the broker's program; empty: temper-broker beside this program
  double patience_s =
      0;  // limit for judging one candidate, without the time that it waits for other processes
  double restart_s = 1;  // the pause after a failed start; it doubles with each further failure
};

class BrokerClient {
 public:
  // Starts the broker.
  BrokerClient(const LaneSetup& setup, const BrokerClientOptions& options);

  enum class State { kStarting, kIdle, kBusy, kDead };
  State state() const { return state_; }
  bool lives() const { return state_ != State::kDead; }
  // Whether the lane is dead for good, because too many starts in a row have failed.
  bool given_up() const;
  const std::string& last_words() const { return last_words_; }  // the message of the broker's last death
  bool user_error() const { return user_error_; }                // whether that death is the user's mistake

  // The descriptor and events to poll for; −1 while the broker is dead.
  int socket() const { return lives() ? broker_.socket() : -1; }
  short events() const;
  // The time, on the clock of now_s, at which attend() is due even if the socket is silent; infinite if never.
  double due_s() const;

  // The broker's first ready message.
  const LaneReady& ready() const { return ready_; }

  void assign(const LaneRequest& request);  // while idle

  // Sends and takes what can be sent and taken now, ends a broker that is overdue, starts one that is due.
  struct News {
    std::optional<LaneAnswer> answer;
    bool died = false;  // with what it held
    std::string waits;  // not empty: what the candidate waits for
  };
  News attend();

 private:
  void start();
  // Ends the broker and keeps `words` as last_words(). How the process ended is appended unless the broker sent the words
  // itself. One that left is ending.
  enum class Death { kOurWords, kItsOwnWords, kLeft };
  void die(const std::string& words, Death death = Death::kOurWords);
  void talk(News& news);
  void take_in(const std::string& message, News& news);
  void take_ready(const std::string& message);
  bool read(News& news);

  const std::string setup_;
  const BrokerClientOptions options_;
  double deadline_s_ = 0;  // while starting or busy; when it may be started again, while dead
  State state_ = State::kDead;
  Subprocess broker_;
  MessageReader reader_;
  MessageWriter writer_;
  LaneReady ready_;
  bool was_ready_ = false, user_error_ = false;
  bool died_ = false;  // and nobody has heard of it
  std::string last_words_;
  int failures_ = 0;  // starts that came to nothing, since the last answer
};

}  // namespace temper::env
