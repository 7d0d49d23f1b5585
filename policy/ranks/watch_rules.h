#pragma once
// When ranks that are watched are in trouble. Pure: times come in.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/ranks/activity.h"
#include "policy/ranks/call_trace.h"

namespace temper {

struct WatchOptions {
  double silence_s = 20;   // without a sign of life: stopped, or its host is gone
  double timeout_s = 600;  // without progress while others wait: hung
  double report_s = 60;    // of waiting, before it is said for whom
};

// What is known of a rank.
struct Watched {
  Activity activity;
  double heard_s = 0;                        // when it last gave a sign of life
  double moved_s = 0;                        // when its activity last changed
  bool left = false;                         // it came to its end and said so
  bool lost = false;                         // its connection broke
  std::string broken = {};                   // why it was closed from this side
  std::vector<CallTrace::Point> calls = {};  // as it last said, one for each communicator that it shares
  std::string differs = {};  // how its calls differ from those of rank 0; empty: not that we know
};

struct Trouble {
  int rank;          // whose; -1: of all together
  std::string what;  // "was killed or crashed in rollout"
  bool alive;        // it may be there still, stopped or hung
  int other = -1;    // as much as that rank's; -1: nobody's
};

// "in rollout", "in the collective gradients of update".
std::string place_text(const Activity& activity);

std::optional<Trouble> find_lost(const std::vector<Watched>& ranks, double now, const WatchOptions& options);
std::optional<Trouble> find_hung(const std::vector<Watched>& ranks, double now, const WatchOptions& options);
// Who has come to its end without a call that others wait in: they would wait for ever.
std::optional<Trouble> find_left_out(const std::vector<Watched>& ranks);

// Compares what a rank said with rank 0's own calls, one trace for each communicator, and notes a difference.
void compare_calls(Watched& rank, const std::vector<std::shared_ptr<const CallTrace>>& own);
// Who has made other collective calls, as far as that is known without the histories of calls: rank 0 if
// nobody agrees with it.
std::optional<Trouble> find_differing(const std::vector<Watched>& ranks);

// Whom the others wait for, where that has taken report_s: "waiting for rank 2: rollout, 60 s"; else empty.
std::string waiting_text(const std::vector<Watched>& ranks, double now, const WatchOptions& options);

}  // namespace temper
