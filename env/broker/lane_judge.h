#pragma once
// The work of a lane. Every candidate gets a verdict: a failure of our own becomes an INFRA verdict.

#include <sys/types.h>

#include <string>
#include <vector>

#include "env/judge/lane_messages.h"
#include "env/plan/plan.h"
#include "env/plan/target.h"
#include "env/verdict/verdict.h"

namespace temper::env {

class LaneJudge {
 public:
  virtual ~LaneJudge() = default;
  virtual LaneReady ready() const = 0;
  virtual LaneAnswer judge(const LaneRequest& request) = 0;
  virtual void prepare() = 0;  // while no candidate waits
  virtual void idle() {}       // now and then, while none comes
};

// The user as which the boxes of this process run if we are root. Each broker has its own, so that per-user limits
// count only its own processes.
uid_t lane_user();

std::string sandbox_level(bool user_dropped);

// The answer to a candidate for GPUs: what goes on to one of them, or why it fails. `plan_ms` is the part after
// compiling.
LaneAnswer planned_answer(const Found& failure, std::vector<std::string> cubins,
                          const std::vector<LaunchPlan>& plans, double compile_ms, double plan_ms);

// The GPU that plans are made for.
GpuTarget target_of(const LaneSetup& setup);

}  // namespace temper::env
