#pragma once
// A core: judges candidates for the CPU, and compiles and plans those for GPUs.

#include <map>
#include <memory>
#include <vector>

#include "env/broker/lane_judge.h"
#include "env/languages/language.h"

namespace temper::env {

class HostLane : public LaneJudge {
 public:
  // Errors: as the lanes of its languages. Where Triton alone is missing and there are other tasks, they are judged all the
  // same: that is a note, and an INFRA verdict for each candidate in Triton.
  explicit HostLane(const LaneSetup& setup);
  LaneReady ready() const override;
  LaneAnswer judge(const LaneRequest& request) override;
  void prepare() override;

 private:
  struct Place {
    Form form;
    uint32_t index;  // among the tasks of its form
  };
  void start(Form form, const LaneSetup& setup);

  std::map<Form, std::unique_ptr<LaneJudge>> lanes_;  // where there are such tasks
  std::string no_triton_;                             // why
  std::vector<Place> places_;                         // by task
};

}  // namespace temper::env
