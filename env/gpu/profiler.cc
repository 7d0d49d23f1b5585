#include "env/gpu/profiler.h"

#include <utility>

#include "base/error.h"
#include "env/box/wire.h"

namespace temper::env {
namespace {

constexpr int kMostFailures = 3;
constexpr int kMostLoads = 500;  // CUPTI remembers them
constexpr std::chrono::nanoseconds kLoadPatience{5'000'000'000};

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

void GpuProfiler::load(const std::vector<std::string>& cubins, const std::string& plan) {
  wait();
  loaded_ = false;
  if (!missing().empty() || !runner_) return;
  try {
    runner_->wait_ready();
    runner_->start_load(cubins, {plan});
    ++loads_;
  } catch (const WorldError&) {
    ++failures_;
    runner_.reset();
  }
}

void GpuProfiler::wait() {
  if (runner_ && runner_->started()) loaded_ = worked(runner_->answer(kLoadPatience));
}

std::optional<ProfileWire> GpuProfiler::profile(const GpuRunnerRequest& call,
                                                std::chrono::nanoseconds patience) {
  wait();
  if (!std::exchange(loaded_, false)) return std::nullopt;
  const auto reply = runner_->profile(call, patience);
  if (!worked(reply)) return std::nullopt;
  failures_ = 0;
  if (loads_ >= kMostLoads) runner_.reset();
  return reply->profile;
}

// A runner that failed is not used again, so that damage by one candidate does not spoil another's profile.
bool GpuProfiler::worked(const std::optional<GpuRunnerReply>& reply) {
  if (reply && reply->status == GpuRunnerStatus::kOk) return true;
  const bool ours = reply && reply->status == GpuRunnerStatus::kBroken;
  failures_ = ours ? failures_ + 1 : 0;
  runner_.reset();
  return false;
}

void GpuProfiler::prepare() {
  if (!runner_ && missing().empty() && failures_ < kMostFailures) {
    runner_.emplace(options_);
    loads_ = 0;
  }
}

}  // namespace temper::env
