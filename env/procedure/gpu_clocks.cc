// Compares a GPU candidate's times, which events on the GPU gave, with two other clocks: the host's and the profiler's.

#include <algorithm>
#include <cmath>

#include "env/box/wire.h"
#include "env/gpu/profile.h"
#include "env/procedure/gpu_procedure.h"

namespace temper::env {
namespace {

using Clock = std::chrono::steady_clock;

// Events and the host's clock may differ by what a warm cache saves, and no more …
constexpr double kHostShare = 0.6, kHostAgrees = 0.9;
constexpr int kHostTries = 5, kProfileTries = 4;
// … events and the profiler, which counts no gaps between launches, by clock rates, and by what it rounds.
constexpr double kDeviceShare = 0.8, kDeviceSlack_us = 1;

}  // namespace

// If the other clocks contradict the times, the candidate is timed once more before it is called a hack, because the
// GPU's clock rates may have risen since the pairs were timed. Only the new times count, so that a candidate gains
// nothing by false first times.
Found GpuProcedure::confirm_times(const GpuCandidate& candidate) {
  Found found = compare_clocks();
  const bool by_host = found.has_value();
  if (!found) found = profile(candidate);
  if (!found || found->reason != "clock") return found;
  if (Found failed = by_host ? std::nullopt : reload(candidate)) return failed;
  watched_us_ = 0;
  if (Found accused = audit()) return accused;
  found = compare_clocks();
  return found ? found : profile(candidate);
}

// Device code could reach the memory in which the GPU keeps its events' times. It cannot reach the host's
// clock. That one also counts what else the host does, so the best of several tries speaks; it may have seen
// long calls when they were timed.
Found GpuProcedure::compare_clocks() {
  host_agrees_ = watched_us_ > 0 && verdict_.candidate_us >= kHostAgrees * watched_us_;
  if (host_agrees_) return std::nullopt;
  double host_us = 0;
  for (int i = 0; i < kHostTries; ++i) {
    const auto start = Clock::now();
    const auto reply = processes_.runners.runner().repeat(calls_of(task_, {plain_draw()}), budget_);
    if (Found found = weigh_reply(reply, start)) return found;
    host_agrees_ = reply->host_bound == 0 && verdict_.candidate_us >= kHostAgrees * reply->repeat_us;
    if (reply->host_bound != 0 || verdict_.candidate_us >= kHostShare * reply->repeat_us) return std::nullopt;
    host_us = i == 0 ? reply->repeat_us : std::min(host_us, reply->repeat_us);
  }
  return Finding{
      VerdictKind::kHack, "clock",
      fmt::format("its time is {:.1f} us, and {:.1f} by the host's clock", verdict_.candidate_us, host_us)};
}

// Profiles the candidate in another process with its own context. This shows where the time goes, and is a
// clock that the timed calls could not manipulate. As with the host's clock the best of several tries counts,
// because times vary by themselves and with the place in memory; a time that the host's clock confirms is
// therefore accepted. Where the time goes is that of the best try, too: a process's first copy may take ten times as
// long as the next. Kernels may do other things at other shapes, so that the candidate is profiled at each.
Found GpuProcedure::profile(const GpuCandidate& candidate) {
  if (processes_.profiler == nullptr) return std::nullopt;
  if (!options_.naive) processes_.runners.runner().start_unload();  // meanwhile
  GpuRunnerRequest request = calls_of(task_, {plain_draw()});
  request.timed = 1;
  request.profiled = host_agrees_ ? 1 : 2;
  double least_us = 0;
  for (int i = 0; i < kProfileTries; ++i) {
    if (i > 0) processes_.profiler->load(candidate.cubins, plan_at_shape(candidate));
    const auto wire = processes_.profiler->profile(request, options_.run_budget);
    if (!wire) return std::nullopt;
    if (const std::string foreign = text_of(wire->foreign); !foreign.empty())
      return Finding{VerdictKind::kHack, "foreign_kernel", foreign};
    if (wire->parts <= 0 || wire->parts > kMaxProfileParts) return std::nullopt;
    if (!std::isfinite(wire->device_us) || wire->device_us <= 0) return std::nullopt;
    if (i == 0 || wire->device_us < least_us) {
      least_us = wire->device_us;
      verdict_.profile = profile_of(*wire, task_, gpu_, verdict_.candidate_us, timed_index(shape_));
      verdict_.profile_share = std::clamp(wire->kernel_us / wire->device_us, 0.0, 1.0);
    }
    if (verdict_.candidate_us >= kDeviceShare * wire->device_us - kDeviceSlack_us) return std::nullopt;
    request.profiled = 2;
  }
  if (host_agrees_) return std::nullopt;
  return Finding{VerdictKind::kHack, "clock",
                 fmt::format("its time is {:.1f} us, and {:.1f} by the profiler's clock",
                             verdict_.candidate_us, least_us)};
}

}  // namespace temper::env
