#pragma once
// What a lane does. Verdicts are never missing: whatever fails for our sake is an INFRA verdict.

#include <sys/types.h>

#include <exception>
#include <string>

#include "env/judge/lane_messages.h"

namespace temper {

class LaneWork {
 public:
  virtual ~LaneWork() = default;
  virtual LaneReady ready() const = 0;
  virtual LaneAnswer judge(const LaneRequest& request) = 0;
  virtual void prepare() = 0;  // while no candidate waits
};

// Who the boxes of this process run as where we are root: one a broker, so that limits count its own alone.
uid_t lane_user();

std::string sandbox_level(bool user_dropped);

// INFRA, in the words of what went wrong.
Verdict infra_verdict(const std::exception& error);

}  // namespace temper
