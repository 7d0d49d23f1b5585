#pragma once
// The judge's side of one broker: started, given one candidate at a time, started again when it dies. Nothing
// here waits for the broker.

#include <optional>
#include <string>

#include "base/machine/child_process.h"
#include "base/machine/messages.h"
#include "env/judge/lane_messages.h"

namespace temper {

struct LaneOptions {
  std::string program;    // the broker's; empty: temper-broker beside this one
  double patience_s = 0;  // for judging one candidate, but for what it waits for others
  double restart_s = 1;   // after a start that came to nothing; twice as long after each further one
};

class Lane {
 public:
  // Starts the broker.
  Lane(const LaneSetup& setup, const LaneOptions& options);

  enum class State { kStarting, kIdle, kBusy, kDead };
  State state() const { return state_; }
  bool lives() const { return state_ != State::kDead; }
  // Dead for good: so many starts in a row have come to nothing.
  bool given_up() const;
  const std::string& last_words() const { return last_words_; }  // of its last death
  bool user_error() const { return user_error_; }                // … and whether that is the user's mistake

  // What poll shall look for; none while it is dead.
  int socket() const { return lives() ? broker_.socket() : -1; }
  short events() const;
  // When to attend to it even if its socket is silent, on now_s's clock; infinite: never.
  double due_s() const;

  // What the broker said when it was first ready.
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
  // Of its own words, those that the broker said, no ending is told beside them.
  void die(const std::string& words, bool its_own = false);
  void talk(News& news);
  void take_in(const std::string& message, News& news);
  void take_ready(const std::string& message);
  bool read(News& news);

  const std::string setup_;
  const LaneOptions options_;
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

}  // namespace temper
