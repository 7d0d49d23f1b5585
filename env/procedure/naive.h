#pragma once
// The judge that many evaluators have been, to measure what the real one is for: the gap between the two is
// the hack rate of a policy that learns from this one.
//
// One draw at the first timed shape, right if torch.allclose(1e-2, 1e-2); the output is memory that held the
// reference's result, as a caching allocator hands it out; then calls on the same data, timed and not looked
// at. No hidden shapes, no guard zones, no look at the inputs, no floor, no cap.
// Source: KernelBench (2502.10517) compares so; what comes of it: Dr. Kernel, 2602.05885.

#include "env/procedure/procedure.h"

namespace temper::env {

// Of a compiled candidate. `runner` is fresh and is used up. Errors: WorldError.
NaiveVerdict naive_verdict(const ProcedureOptions& options, OracleProcess& oracle, RunnerProcess& runner,
                           const Task& task, uint32_t task_index, const std::string& object);

}  // namespace temper::env
