#pragma once
// The naive judge (env/procedure/naive.h) on a GPU. It judges one draw at the first timed shape, which is right if it is
// torch.allclose(1e-2, 1e-2) to the eager result. The output's memory held that result before. Then calls on the
// same data are timed and not checked. Candidate and baseline are timed in the same way, with warm caches.

#include <chrono>

#include "env/gpu/oracle_process.h"
#include "env/gpu/runner_process.h"
#include "env/verdict/verdict.h"

namespace temper::env {

// Of the candidate that the runner has loaded. A runner that dies of it is discarded. Errors: WorldError.
NaiveVerdict gpu_naive_verdict(GpuOracleProcess& oracle, GpuRunnerPool& runners, const Task& task,
                               uint32_t task_index, std::chrono::nanoseconds patience);

}  // namespace temper::env
