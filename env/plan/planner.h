#pragma once
// A CUDA candidate's way to its plans, without a GPU: the language's gate, the compile box, the cubin's gate,
// the plan box.

#include "env/compile/cuda_compile.h"
#include "env/compile/cuda_toolchains.h"
#include "env/plan/recorder_process.h"
#include "env/task/task.h"

namespace temper::env {

struct Planned {
  Found failure;  // nothing: there is a plan for each shape
  std::string object, cubin;
  std::vector<LaunchPlan> plans;
  HostOrigin host = HostOrigin::kNone;
  HostHalf made;  // a new host half for other candidates with this host text; empty if it was known
  double compile_ms = 0, plan_ms = 0;
};

// Bytes of each buffer of a call.
PlanBuffers plan_buffers(const Task& task, const Shape& shape);

// `recorder` is fresh and is used up. `budget` bounds loading and all launchers together. `known`: a host
// half of this candidate's host text, if there is one. Errors: WorldError, and only where the failure is
// ours.
Planned plan_candidate(const Task& task, const std::string& source, const std::vector<Shape>& shapes,
                       CudaToolchains& tools, const CompileQuota& quota, uid_t user, const GpuTarget& target,
                       RecorderProcess& recorder, std::chrono::nanoseconds budget,
                       const HostHalf& known = {});

}  // namespace temper::env
