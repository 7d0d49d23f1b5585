#include "env/broker/cuda_lane.h"

#include "base/error.h"
#include "base/files.h"
#include "env/box/lockdown.h"
#include "env/languages/language.h"

namespace temper::env {
namespace {

// nvcc takes longer and more than a C++ compiler: what is set for that one is not what it gets less of.
CompileQuota quota_of(const LaneSetup& setup) {
  CompileQuota quota = cuda_compile_quota();
  quota.wall = std::max(quota.wall, std::chrono::milliseconds(int64_t(setup.compile_timeout_s * 1e3)));
  quota.memory_bytes = std::max(quota.memory_bytes, setup.memory_mb << 20);
  return quota;
}

}  // namespace

CudaLane::CudaLane(const LaneSetup& setup)
    : setup_(setup),
      target_(target_of(setup)),
      tools_(kCuda.compiler_flags, kCuda.entry_point, target_.architecture, setup.headers),
      quota_(quota_of(setup)) {
  const std::string alive = first_call_not_killed();
  if (!alive.empty()) throw WorldError("the sandbox does not hold: {} is possible", alive);
  recorder_options_.program = (executable_dir() / "temper-recorder").string();
  recorder_options_.memory_bytes = setup.memory_mb << 20;
  recorder_options_.cpu_s = int64_t(setup.run_timeout_s) + 2;
  recorder_options_.user = lane_user();
  recorder_.emplace(recorder_options_);
  recorder_->wait_ready();
  user_dropped_ = recorder_->user_dropped();
}

LaneReady CudaLane::ready() const {
  return {.level = sandbox_level(user_dropped_),
          .gpu_compilers = {{kCuda.name, description(tools_.plain())}}};
}

LaneAnswer CudaLane::judge(const LaneRequest& request) {
  LaneAnswer result;
  try {
    const Task& task = setup_.tasks.at(request.task);
    if (!recorder_) recorder_.emplace(recorder_options_);
    const auto budget = std::chrono::nanoseconds(int64_t(setup_.run_timeout_s * 1e9));
    Planned planned = plan_candidate(task, request.source, all_shapes(task), tools_, quota_, lane_user(),
                                     target_, *recorder_, budget, request.known);
    result = planned_answer(planned.failure, {std::move(planned.cubin)}, planned.plans, planned.compile_ms,
                            planned.plan_ms);
    result.host = planned.host;
    result.made = std::move(planned.made);
  } catch (const std::exception& e) {
    result.verdict = infra(e.what());
  }
  recorder_.reset();
  return result;
}

// The next plan box starts up, and will be planned in when it is ready.
void CudaLane::prepare() {
  try {
    tools_.headers().read(lane_user());
  } catch (const std::exception& e) {
    fmt::print(stderr, "each candidate reads CUDA's headers again, which takes longer: {}\n", e.what());
  }
  try {
    if (!recorder_) recorder_.emplace(recorder_options_);
  } catch (const std::exception&) {
    recorder_.reset();  // said by the next candidate's verdict, if it lasts
  }
}

}  // namespace temper::env
