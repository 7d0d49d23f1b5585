#include "env/plan/recorder_reply.h"

#include <fmt/format.h>

#include <algorithm>

#include "env/box/wire.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

constexpr VerdictKind kRefusals[] = {VerdictKind::kFailPlan, VerdictKind::kFailRuntime,
                                     VerdictKind::kRejectPolicy, VerdictKind::kHack,
                                     VerdictKind::kFailCompile};

}  // namespace

Finding no_plan(const std::string& what) { return {VerdictKind::kFailPlan, "protocol", what}; }

Finding failure_of(const RecorderReply& reply) {
  const auto kind =
      std::ranges::find(kRefusals, reply.kind, [](VerdictKind known) { return uint32_t(known); });
  const std::string reason = text_of(reply.reason);
  const auto code = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (kind == std::end(kRefusals) || reason.empty() || !std::ranges::all_of(reason, code))
    return no_plan("launch disturbed its recorder");
  return {*kind, reason, scrub(text_of(reply.detail))};
}

Found plan_of(const RecorderReply& reply, std::string_view arena, const PlanLimits& limits,
              LaunchPlan& plan) {
  const size_t most = std::min(kMaxPlanBytes, arena.size());
  if (reply.plan_bytes < 0 || uint64_t(reply.plan_bytes) > most) return no_plan("a plan of no size");
  // A copy, because the process that wrote the plan may still be writing to the arena.
  const std::string bytes(arena.substr(0, size_t(reply.plan_bytes)));
  std::string problem = parse_plan(bytes, plan);
  if (problem.empty() && !plan.choices.empty()) problem = "a plan with choices";
  if (problem.empty()) problem = check_plan(plan, limits.buffers);
  if (problem.empty()) problem = check_plan_kernels(plan, {&limits.cubin, 1}, limits.target);
  if (problem.empty() && plan.workspace_bytes() > limits.workspace_bytes)
    problem =
        fmt::format("{} bytes of workspaces; at most {}", plan.workspace_bytes(), limits.workspace_bytes);
  if (!problem.empty()) return Finding{VerdictKind::kFailPlan, "plan", problem};
  return std::nullopt;
}

}  // namespace temper::env
