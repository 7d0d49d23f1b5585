#pragma once
// A runner that profiles, where the machine lets it: without CUPTI verdicts have no profile, and all else is
// as it is.

#include "env/cuda/gpu_runner_process.h"

namespace temper {

class GpuProfiler {
 public:
  explicit GpuProfiler(GpuRunnerOptions options);  // starts it and returns at once

  // Why there is no profile, in a line; "" if there is one. Waits until the first is known.
  const std::string& missing();

  // Of the timed call. Nothing if there is none to be had; then another runner is started by and by.
  std::optional<ProfileWire> profile(const std::string& cubin, const std::string& plan,
                                     const GpuRunnerRequest& call, std::chrono::nanoseconds patience);
  void prepare();  // starts what is missing; returns at once

 private:
  GpuRunnerOptions options_;
  std::optional<GpuRunnerProcess> runner_;
  std::optional<std::string> missing_;  // once it is known
  int failures_ = 0;                    // of ours, in a row
  int64_t profiles_ = 0;
};

}  // namespace temper
