#include "env/broker/lane_judge.h"

#include <unistd.h>

#include <cstring>
#include <utility>

#include "env/plan/gpu_candidate.h"

namespace temper::env {

uid_t lane_user() {
  constexpr uid_t kFirst = 100'000;
  return kFirst + uid_t(::getpid());
}

std::string sandbox_level(bool user_dropped) {
  return std::string("S2 (namespaces, private root, rlimits, seccomp") +
         (user_dropped ? ", user dropped)" : ")");
}

LaneAnswer planned_answer(const Found& failure, std::vector<std::string> cubins,
                          const std::vector<LaunchPlan>& plans, double compile_ms, double plan_ms) {
  LaneAnswer answer;
  if (!failure) {
    GpuCandidate candidate{
        .cubins = std::move(cubins), .plans = {}, .compile_ms = compile_ms, .plan_ms = plan_ms};
    for (const LaunchPlan& plan : plans) candidate.plans.push_back(serialize(plan));
    answer.prepared = to_bytes(candidate);
    return answer;
  }
  answer.verdict = verdict_of(*failure);
  answer.verdict.compile_ms = answer.verdict.total_ms = compile_ms + plan_ms;
  answer.verdict.plan_ms = plan_ms;
  return answer;
}

GpuTarget target_of(const LaneSetup& setup) {
  GpuTarget target;
  if (setup.gpu_target.size() == sizeof target) std::memcpy(&target, setup.gpu_target.data(), sizeof target);
  return target;
}

}  // namespace temper::env
