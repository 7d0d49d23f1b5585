#pragma once
// When ranks that are watched are in trouble. Pure: times come in.

#include <optional>
#include <string>
#include <vector>

#include "policy/activity.h"

namespace temper {

struct WatchOptions {
  double silence_s = 20;   // without a sign of life: stopped, or its host is gone
  double timeout_s = 600;  // without progress while others wait: hung
  double report_s = 60;    // of waiting, before it is said for whom
};

// What is known of a rank.
struct Watched {
  Activity activity;
  double heard_s = 0;  // when it last gave a sign of life
  double moved_s = 0;  // when its activity last changed
  bool left = false;   // it came to its end and said so
  bool lost = false;   // its connection broke
};

struct Trouble {
  int rank;          // whose; -1: of all together
  std::string what;  // "was killed or crashed in rollout"
  bool alive;        // it may be there still, stopped or hung
};

// "in rollout", "in the collective gradients of update".
std::string place_text(const Activity& activity);

std::optional<Trouble> find_lost(const std::vector<Watched>& ranks, double now, const WatchOptions& options);
std::optional<Trouble> find_hung(const std::vector<Watched>& ranks, double now, const WatchOptions& options);

// Whom the others wait for, where that has taken report_s: "waiting for rank 2: rollout, 60 s"; else empty.
std::string waiting_text(const std::vector<Watched>& ranks, double now, const WatchOptions& options);

}  // namespace temper
