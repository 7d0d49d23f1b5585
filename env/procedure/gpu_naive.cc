#include "env/procedure/gpu_naive.h"

#include "env/procedure/judging.h"

namespace temper::env {
namespace {

bool done(GpuRunnerPool& runners, const std::optional<GpuRunnerReply>& reply) {
  if (!reply || reply->status == GpuRunnerStatus::kCrashed) runners.discard();
  return reply && reply->status == GpuRunnerStatus::kOk;
}

}  // namespace

NaiveVerdict gpu_naive_verdict(GpuOracleProcess& oracle, GpuRunnerPool& runners, const Task& task,
                               uint32_t task_index, std::chrono::nanoseconds patience) {
  const GpuDraw draw{.seed = secret_seed()};
  GpuRunnerRequest request = calls_of(task, {draw});
  request.naive = 1;
  oracle.give_away(task_index, draw);
  if (!done(runners, runners.runner().call(request, patience))) return {};
  if (!oracle.allclose(task_index, draw)) return {};
  const auto repeated = runners.runner().repeat(request, patience);
  if (!done(runners, repeated)) return {};
  return naive_of_times(repeated->repeat_us, oracle.warm_baseline(task_index, draw));
}

}  // namespace temper::env
