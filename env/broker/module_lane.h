#pragma once
// Candidates that are modules of PyTorch, up to where a GPU is needed: looked at, and their extensions compiled.

#include "env/broker/lane_judge.h"
#include "env/kernelbench/module_build.h"

namespace temper::env {

class ModuleLane : public LaneJudge {
 public:
  // Errors: WorldError if there is no Python with torch.
  explicit ModuleLane(const LaneSetup& setup);
  LaneReady ready() const override;
  LaneAnswer judge(const LaneRequest& request) override;
  void prepare() override;

 private:
  LaneSetup setup_;
  ModuleBoxOptions options_;
  ModuleGate gate_;
  ModuleBuilder builder_;
};

}  // namespace temper::env
