#pragma once
// Candidates in Triton, up to where a GPU is needed: run in a box, their launches recorded.

#include <optional>

#include "env/broker/lane_judge.h"
#include "env/plan/triton/box.h"

namespace temper::env {

class TritonLane : public LaneJudge {
 public:
  // Errors: WorldError if there is no Python with torch and triton, or the sandbox cannot be made.
  explicit TritonLane(const LaneSetup& setup);
  LaneReady ready() const override;
  LaneAnswer judge(const LaneRequest& request) override;
  void prepare() override;

 private:
  LaneSetup setup_;
  GpuTarget target_;
  TritonBoxOptions options_;
  std::optional<TritonBox> box_;
};

}  // namespace temper::env
