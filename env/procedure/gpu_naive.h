#pragma once
// The judge that many evaluators have been (env/procedure/naive.h), on a GPU: one draw at the timed shape, right
// if torch.allclose(1e-2, 1e-2) to the eager result; the output is memory that held that result; then calls
// on the same data, timed and not looked at. Candidate and baseline are timed alike, with warm caches.

#include <chrono>

#include "env/gpu/oracle_process.h"
#include "env/gpu/runner_process.h"
#include "env/verdict/verdict.h"

namespace temper {

// Of the candidate that the runner has loaded. A runner that dies of it is discarded. Errors: WorldError.
NaiveVerdict gpu_naive_verdict(GpuOracleProcess& oracle, GpuRunnerPool& runners, const Task& task,
                               uint32_t task_index, std::chrono::nanoseconds patience);

}  // namespace temper
