#pragma once
// A GPU candidate whose plans leave choices open (env/plan/plan.h), and what becomes of it when they are made.

#include <string>
#include <vector>

#include "env/plan/gpu_candidate.h"
#include "env/plan/plan.h"

namespace temper::env {

class OpenCandidate {
 public:
  // `candidate` must outlive it; its last `timed` plans are those of the timed shapes. A candidate with a plan that cannot
  // be parsed leaves nothing open.
  explicit OpenCandidate(const GpuCandidate& candidate, size_t timed = 1);

  bool open() const { return open_; }  // whether any of its plans has a choice
  // The first choice of each slot of the timed shapes' plans, in the order of the shapes and of the steps.
  const std::vector<const Choice*>& slots() const { return slots_; }

  // With all plans, and with those of the timed shapes alone. Both have those cubins that their plans need.
  GpuCandidate chosen(const Configurations& configurations) const;
  GpuCandidate timed_alone(const Configurations& configurations) const;

  // "configuration 2 of 8: BLOCK: 256, num_warps: 4" for each of the slots. Counts are by place in the list of
  // alternatives.
  std::string words(const Configurations& configurations) const;

 private:
  GpuCandidate with(std::vector<LaunchPlan> plans) const;

  const GpuCandidate& candidate_;
  size_t timed_;
  std::vector<LaunchPlan> plans_;
  std::vector<const Choice*> slots_;
  bool open_ = false;
};

}  // namespace temper::env
