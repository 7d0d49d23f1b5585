#pragma once
// From what a profiler recorded of one call to what a verdict says of it.

#include <cstdint>
#include <string>
#include <vector>

#include "env/gpu/protocol.h"
#include "env/plan/plan.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper {

struct DeviceRecord {
  enum class Kind : uint8_t { kKernel, kMemset, kCopy };
  Kind kind = Kind::kKernel;
  uint64_t begin_ns = 0, end_ns = 0;
  Extent grid = {}, block = {};  // of kernels
};

// The records of a call of `plan`, in any order; its kernels begin in the plan's. They go by their order and
// extents: CUPTI says the names of modules that were unloaded of the kernels of later ones. No parts where
// records are missing or have no times; `foreign` where more kernels ran, or others.
ProfileWire summarize(const std::vector<DeviceRecord>& records, const LaunchPlan& plan);

// `wire` has parts. `candidate_us` is what a call takes by the verdict.
Profile profile_of(const ProfileWire& wire, const Task& task, const GpuFactsWire& gpu, double candidate_us);

// What the task's least arithmetic and traffic take at the timed shape, in seconds: the arithmetic at the
// tensor cores' peak for the shortest type among its tensors (for f32 three products of bf16 that stand for
// one), the traffic at the memory's nominal speed. `in_cache` of the bytes need not come from memory.
struct RoofTimes {
  double memory_s = 0, arithmetic_s = 0;
};
RoofTimes roof_times(const Task& task, const GpuFactsWire& gpu, double in_cache = 0);

}  // namespace temper
