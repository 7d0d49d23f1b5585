#pragma once
// What a recorder says after foreign code ran in it: believed as far as it can be checked.

#include <optional>
#include <string>
#include <string_view>

#include "env/plan/gate.h"
#include "env/plan/recorder_protocol.h"

namespace temper {

// A candidate's launcher became no plan.
PlanFailure no_plan(const std::string& what);

// Of a kFailed, in its words, of which none is believed but that it failed.
PlanFailure failure_of(const RecorderReply& reply);

// What a plan is held against.
struct PlanLimits {
  const PlanBuffers& buffers;
  const Cubin& cubin;
  const GpuTarget& target;
  int64_t workspace_bytes;
};

// The plan of a kPlanned, at the begin of `arena`, or what is wrong with it.
std::optional<PlanFailure> plan_of(const RecorderReply& reply, std::string_view arena,
                                   const PlanLimits& limits, LaunchPlan& plan);

}  // namespace temper
