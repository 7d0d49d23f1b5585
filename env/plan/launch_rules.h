#pragma once
// Which launches CUDA accepts, and how many blocks run at once. The recorder answers launchers by it, and no
// plan gets to a GPU that breaks it.
//
// Source: CUDA C++ programming guide, compute capabilities; registers are given to warps in units of 256, in
// four parts of a multiprocessor; shared memory in units of 128 bytes.

#include "env/plan/cubin.h"
#include "env/plan/target.h"

namespace temper::env {

enum class Refusal : uint8_t {
  kNone,
  kConfiguration,  // cudaErrorInvalidConfiguration
  kValue,          // cudaErrorInvalidValue
  kResources,      // cudaErrorLaunchOutOfResources
  kCooperative,    // cudaErrorCooperativeLaunchTooLarge
  kCluster,        // cudaErrorInvalidClusterSize
};

struct LaunchCheck {
  Refusal refusal = Refusal::kNone;
  std::string words;  // "a block of 2048 threads; at most 1024"
};

// `settings` are the kernel's attributes. Extents may be 0 and more than a plan holds.
LaunchCheck check_launch(const CubinKernel& kernel, const PlanKernel& settings, const KernelLaunch& launch,
                         const GpuTarget& target);

// Blocks of the kernel that are on a multiprocessor at once.
int32_t resident_blocks(const CubinKernel& kernel, uint32_t threads, uint64_t dynamic_shared,
                        const GpuTarget& target);

// The most threads of a block of `kernel`, and the most dynamic shared memory that it can opt into.
uint32_t max_threads(const CubinKernel& kernel, const GpuTarget& target);
uint32_t max_dynamic_shared(const CubinKernel& kernel, const GpuTarget& target);

}  // namespace temper::env
