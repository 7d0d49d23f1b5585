#pragma once
// A core: judges candidates for the CPU, and compiles and plans those for GPUs.

#include <memory>
#include <vector>

#include "env/broker/lane_judge.h"

namespace temper::env {

class HostLane : public LaneJudge {
 public:
  explicit HostLane(const LaneSetup& setup);
  LaneReady ready() const override;
  LaneAnswer judge(const LaneRequest& request) override;
  void prepare() override;

 private:
  struct Place {
    LaneJudge* work;
    uint32_t index;  // among the tasks of its language
  };
  std::unique_ptr<LaneJudge> cpp_, cuda_;  // where there are such tasks
  std::vector<Place> places_;              // by task
};

}  // namespace temper::env
