#include "env/cuda/gpu_profiler.h"

#include "base/error.h"
#include "env/box/wire.h"

namespace temper {
namespace {

constexpr int kMostFailures = 3;
constexpr int64_t kMostProfiles = 500;  // CUPTI remembers what was loaded

}  // namespace

GpuProfiler::GpuProfiler(GpuRunnerOptions options) : options_(std::move(options)) {
  options_.profiling = true;
  runner_.emplace(options_);
}

const std::string& GpuProfiler::missing() {
  if (missing_) return *missing_;
  try {
    runner_->wait_ready();
    missing_.emplace();
  } catch (const WorldError& e) {
    missing_ = e.what();
    runner_.reset();
  }
  return *missing_;
}

std::optional<ProfileWire> GpuProfiler::profile(const std::string& cubin, const std::string& plan,
                                                const GpuRunnerRequest& call,
                                                std::chrono::nanoseconds patience) {
  if (!missing().empty() || !runner_) return std::nullopt;
  std::optional<GpuRunnerReply> reply;
  bool ours = true;
  try {
    runner_->wait_ready();
    reply = runner_->profile(cubin, plan, call, patience);
    ours = reply && reply->status == GpuRunnerStatus::kBroken;
  } catch (const WorldError&) {
    reply.reset();
  }
  const bool failed = !reply || reply->status != GpuRunnerStatus::kOk;
  failures_ = ours ? failures_ + 1 : 0;  // what a candidate does to it ends no other's profile
  if (failed || ++profiles_ % kMostProfiles == 0) runner_.reset();
  if (failed) return std::nullopt;
  return reply->profile;
}

void GpuProfiler::prepare() {
  if (!runner_ && missing().empty() && failures_ < kMostFailures) runner_.emplace(options_);
}

}  // namespace temper
