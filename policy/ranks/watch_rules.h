#pragma once
// When ranks that are watched are in trouble. Pure: times come in.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/ranks/activity.h"
#include "policy/ranks/call_trace.h"

namespace temper::policy {

struct WatchOptions {
  double silence_s = 20;   // without a sign of life: stopped, or its host is gone
  double timeout_s = 600;  // without progress while others wait: hung
  double report_s = 60;    // after this much waiting, the rank that is waited for is reported
};

// What rank 0 has last heard from one of the ranks that it watches, and when.
struct Watched {
  Activity activity;
  double heard_s = 0;                        // when it last gave a sign of life
  double moved_s = 0;                        // when its activity last changed
  bool left = false;                         // it ended normally and reported that
  bool lost = false;                         // its connection broke
  std::string broken = {};                   // why it was closed from this side
  std::vector<CallTrace::Point> calls = {};  // last reported, one for each communicator that it belongs to
  std::string differs = {};  // how its calls differ from those of rank 0; empty if no difference is known
};

struct Trouble {
  int rank;          // the rank in trouble; −1 for all together
  std::string what;  // "was killed or crashed in rollout"
  bool alive;        // it may be there still, stopped or hung
  int other = -1;    // a second rank that may equally be the cause; −1 if there is none
};

// "in rollout", "in the collective gradients of update".
std::string place_text(const Activity& activity);

std::optional<Trouble> find_lost(const std::vector<Watched>& ranks, double now, const WatchOptions& options);
std::optional<Trouble> find_hung(const std::vector<Watched>& ranks, double now, const WatchOptions& options);
// A rank that has ended without making a call in which others wait, who would wait for ever.
std::optional<Trouble> find_left_out(const std::vector<Watched>& ranks);

// Compares a rank's reported calls with rank 0's own, one trace for each communicator, and records a difference.
void compare_calls(Watched& rank, const std::vector<std::shared_ptr<const CallTrace>>& own);
// The rank that has made other collective calls, as far as it can be known without the histories of calls. It is
// rank 0 if no rank agrees with rank 0.
std::optional<Trouble> find_differing(const std::vector<Watched>& ranks);

// The rank that the others have waited for longer than report_s: "waiting for rank 2: rollout, 60 s"; else empty.
std::string waiting_text(const std::vector<Watched>& ranks, double now, const WatchOptions& options);

}  // namespace temper::policy
