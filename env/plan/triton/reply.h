#pragma once
// Reads what a Triton candidate's process sends: which launches its wrapper made, and their cubins. The candidate ran in that
// process and may have written all of it, so nothing is taken that has not been checked.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "env/plan/gate.h"
#include "env/plan/plan.h"
#include "env/plan/target.h"

namespace temper::env {

// The limits against which a reply is checked.
struct TritonLimits {
  std::vector<PlanBuffers> buffers;  // of each shape, in the order in which they were asked for
  GpuTarget target;
  int64_t workspace_bytes = int64_t(8) << 30;  // of one plan
  double wall_ms = 0;                          // what the answer took; no claimed time is longer
};

struct TritonReply {
  std::string infra;  // not empty: no candidate was run, and why
  Found failure;      // nothing: there is a plan for each shape
  std::vector<std::string> cubins;
  std::vector<LaunchPlan> plans;
  double compile_ms = 0, plan_ms = 0;
};

// The reply that consists of these frames. The first is JSON, each further one a cubin:
//   {"status": "ok", "cubins": 2, "plans": [{"kernels": […], "workspaces": […], "steps": […]}], "compile_ms": 210.0, "plan_ms": 12.0}
//   {"status": "failed", "kind": "FAIL_PLAN", "reason": "reads_values", "message": "…", "details": "…"}
//   {"status": "infra", "error": "…"}, by the process that forks candidates alone
// What only a broken or hostile process could have written is FAIL_PLAN with the reason "malformed".
TritonReply read_triton_reply(const std::vector<std::string>& frames, const TritonLimits& limits);

// How many cubins follow the first frame; nothing if it does not say.
std::optional<int64_t> count_cubins(std::string_view frame);

}  // namespace temper::env
