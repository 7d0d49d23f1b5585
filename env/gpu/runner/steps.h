#pragma once
// The steps of a plan, one after another in a stream.

#include <string>
#include <vector>

#include "env/gpu/case.h"
#include "env/gpu/device/driver.h"
#include "env/gpu/protocol.h"
#include "env/plan/plan.h"

namespace temper::env {

// A failure that is the candidate's.
struct CandidateError {
  GpuRunnerStatus status;
  std::string reason, words;
};

// Throws it for a failed driver call that is of the candidate's doing; GpuError where the context is lost.
void check_candidate(CUresult code, const char* call, GpuRunnerStatus status, const std::string& what);

// A plan whose buffers lie somewhere. Errors: CandidateError if CUDA refuses a tensor map.
struct PlacedPlan {
  const LaunchPlan& plan;
  const std::vector<CUfunction>& kernels;  // as LaunchPlan::kernels
  CallLayout layout;
  CUdeviceptr base = 0;
  std::vector<std::vector<uint8_t>> arguments;  // arguments of each step; empty if it is not a launch

  PlacedPlan(const LaunchPlan& what, const std::vector<CUfunction>& functions, CallLayout how,
             CUdeviceptr where);
  CUdeviceptr address(const DevicePointer& pointer) const;
};

enum class Steps : uint8_t { kAll, kWithoutKernels };

// Queues the steps. Errors: CandidateError, GpuError.
void run_steps(const PlacedPlan& placed, CUstream stream, Steps steps = Steps::kAll);

}  // namespace temper::env
