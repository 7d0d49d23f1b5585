#pragma once
// Turns a profiler's records of one call into the profile of a verdict.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "env/gpu/protocol.h"
#include "env/plan/plan.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper::env {

struct DeviceRecord {
  enum class Kind : uint8_t { kKernel, kMemset, kCopy };
  Kind kind = Kind::kKernel;
  uint64_t begin_ns = 0, end_ns = 0;
  Extent grid = {}, block = {};  // only for kernels
};

// Summarises the records of a call of `plan`, which may come in any order; the kernels start in the plan's order.
// Kernels are recognised by order and extents, because CUPTI gives kernels of a later module the names of one that
// was unloaded. The result has no parts if records are missing or have no times, and is `foreign` if kernels ran
// that are not in the plan.
ProfileWire summarize(const std::vector<DeviceRecord>& records, const LaunchPlan& plan);

// `wire` has parts, and is of a call at the timed shape of that index. `candidate_us` is what such a call takes by the
// verdict.
Profile profile_of(const ProfileWire& wire, const Task& task, const GpuFactsWire& gpu, double candidate_us,
                   size_t timed = 0);

// The time in seconds that the task's least arithmetic and traffic need at the timed shape of that index. Arithmetic runs at the
// tensor cores' peak for the shortest type among the task's tensors; an f32 product counts as three products of
// bf16. Traffic runs at the memory's nominal bandwidth; `in_cache` of the bytes need not come from memory.
struct RoofTimes {
  double memory_s = 0, arithmetic_s = 0;
  double us() const { return 1e6 * std::max(memory_s, arithmetic_s); }  // of the slower one, in microseconds
};
RoofTimes roof_times(const Task& task, const GpuFactsWire& gpu, size_t timed = 0, double in_cache = 0);

}  // namespace temper::env
