#pragma once
// A recording of what one call of a launcher did with the addresses that it was given. Two recordings with
// different addresses make a plan.

#include <map>
#include <variant>
#include <vector>

#include "env/plan/cubin.h"
#include "env/plan/gate.h"
#include "env/plan/recorder/addresses.h"

namespace temper::env {

struct RawLaunch {
  KernelLaunch launch;                 // `kernel` counts the cubin's; `arguments` as they were
  std::map<uint32_t, Place> pointers;  // what of the arguments is among the addresses, by its place
  std::string kernel_name;
};

struct RawMemset {
  Place to;
  uint8_t value = 0;
  int64_t bytes = 0;
};

struct RawCopy {
  Place to, from;
  int64_t bytes = 0;
};

using RawStep = std::variant<RawLaunch, RawMemset, RawCopy>;

struct Recording {
  std::vector<RawStep> steps;
  std::vector<DeviceBuffer> buffers;  // Addresses::of_this_run at the end
};

// Two runs of one shape as one plan: pointers are what moved with its buffer, data what stayed. `settings` of
// the cubin's kernels, as they are at the end. Source: Temper's own; that plans may not hang on addresses is
// how a launcher is kept from knowing its caller.
Found resolve(const Recording& first, const Recording& second, const std::vector<PlanKernel>& settings,
              LaunchPlan& plan);

}  // namespace temper::env
