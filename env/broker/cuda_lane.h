#pragma once
// Candidates in CUDA C++, up to where a GPU is needed: compiled, looked at, planned.

#include <optional>

#include "env/broker/lane_judge.h"
#include "env/plan/planner.h"

namespace temper::env {

class CudaLane : public LaneJudge {
 public:
  // Errors: WorldError if there is no nvcc, or the sandbox cannot be made.
  explicit CudaLane(const LaneSetup& setup);
  LaneReady ready() const override;
  LaneAnswer judge(const LaneRequest& request) override;
  void prepare() override;

 private:
  LaneSetup setup_;
  GpuTarget target_;
  CudaToolchains tools_;
  CompileQuota quota_;
  RecorderOptions recorder_options_;
  std::optional<RecorderProcess> recorder_;
  bool user_dropped_ = false;
};

}  // namespace temper::env
