#pragma once
// Checks what a cubin contains and what a plan does with it, from the files alone, before anything runs on a GPU.

#include <optional>
#include <span>

#include "env/plan/cubin.h"
#include "env/plan/target.h"
#include "env/verdict/verdict.h"

namespace temper::env {

inline constexpr uint64_t kMaxGlobalBytes = 64 << 10;  // .nv.global: more is refused as such
inline constexpr uint32_t kMaxStackBytes = 32 << 10;   // local memory of a thread

// The variables that kernels refer to, of those that the cubin initialises: nobody may write them, and the
// runner compares them after each call.
std::vector<CubinGlobal> tables_of(const Cubin& cubin, std::string_view ptx);

// Refuses variables that outlive a call, functions that the file lacks, and too much memory. `ptx` is the text that
// the cubin was made from. It shows which variables the kernels refer to, since the toolkit's C++ headers leave
// many behind that are never used.
Found gate_cubin(const Cubin& cubin, std::string_view ptx);

// "" or what a plan asks of its candidate's cubins that they do not have, or that CUDA would refuse.
std::string check_plan_kernels(const LaunchPlan& plan, std::span<const Cubin> cubins,
                               const GpuTarget& target);

}  // namespace temper::env
