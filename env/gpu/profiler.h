#pragma once
// A runner that profiles, where the machine lets it: without CUPTI verdicts have no profile, and all else is
// as it is.

#include "env/gpu/runner_process.h"

namespace temper::env {

class GpuProfiler {
 public:
  explicit GpuProfiler(GpuRunnerOptions options);  // starts it and returns at once

  // Why there is no profile, in a line; "" if there is one. Waits until the first is known.
  const std::string& missing();

  // Begins to load a candidate with the plan of its timed call, in place of what was loaded before.
  void load(const std::vector<std::string>& cubins, const std::string& plan);
  void wait();  // until it is loaded: while it loads nothing is timed
  // The profile of that call. Empty if it could not be recorded; another runner is then started later.
  std::optional<ProfileWire> profile(const GpuRunnerRequest& call, std::chrono::nanoseconds patience);
  void prepare();  // starts what is missing; returns at once

 private:
  bool worked(const std::optional<GpuRunnerReply>& reply);

  GpuRunnerOptions options_;
  std::optional<GpuRunnerProcess> runner_;
  std::optional<std::string> missing_;  // once it is known
  bool loaded_ = false;
  int failures_ = 0;  // consecutive failures that are not the candidate's
  int loads_ = 0;     // loads by this runner
};

}  // namespace temper::env
