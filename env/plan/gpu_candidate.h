#pragma once
// A candidate on its way from the cores that compiled it to a GPU.

#include <optional>
#include <string>
#include <vector>

namespace temper::env {

struct GpuCandidate {
  std::vector<std::string> cubins;  // at most kMaxPlanCubins; PlanKernel::cubin is an index into them
  std::vector<std::string> plans;   // serialised plans of the check shapes in order, then of the timed shapes
  double compile_ms = 0, plan_ms = 0;  // what it took
};

std::string to_bytes(const GpuCandidate& candidate);
std::optional<GpuCandidate> gpu_candidate_from(const std::string& bytes);  // nothing if they are no candidate

}  // namespace temper::env
