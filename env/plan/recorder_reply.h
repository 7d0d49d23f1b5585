#pragma once
// Reads a recorder's replies. Untrusted code has run in it, so only what can be checked is used.

#include <optional>
#include <string>
#include <string_view>

#include "env/plan/gate.h"
#include "env/plan/recorder_protocol.h"

namespace temper::env {

// A candidate's launcher became no plan.
Finding no_plan(const std::string& what);

// The failure in a kFailed reply. Its text is the recorder's own, and only the fact that it failed is trusted.
Finding failure_of(const RecorderReply& reply);

// The limits against which a plan is checked.
struct PlanLimits {
  const PlanBuffers& buffers;
  const Cubin& cubin;
  const GpuTarget& target;
  int64_t workspace_bytes;
};

// The plan of a kPlanned, at the begin of `arena`, or what is wrong with it.
Found plan_of(const RecorderReply& reply, std::string_view arena, const PlanLimits& limits, LaunchPlan& plan);

}  // namespace temper::env
