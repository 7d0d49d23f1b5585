#pragma once
// How long a candidate's process is waited for. Each step has a limit by what it is for, so that what hangs in it keeps a GPU no
// longer than what is right may take. Besides, all steps together take from one budget.

#include <chrono>
#include <string>

namespace temper::env {

struct ModuleLimits {
  std::chrono::nanoseconds whole;    // all steps together
  std::chrono::nanoseconds warm_up;  // a step in which a module may compile and tune
  std::chrono::nanoseconds call;     // a step in which it only computes
};

// The same limit for all.
constexpr ModuleLimits one_limit(std::chrono::nanoseconds limit) { return {limit, limit, limit}; }

// What the reference's own module took where candidates run.
struct ModuleCost {
  std::chrono::nanoseconds build{0};  // importing and building it
  std::chrono::nanoseconds call{0};   // the fastest call of forward
};

// Those for candidates of a problem. A module of gigabytes takes its time to be built, and a call may take a hundred times as long as
// the reference's, and 5 s in any case.
ModuleLimits module_limits(std::chrono::nanoseconds whole, std::chrono::nanoseconds warm_up,
                           const ModuleCost& baseline);

enum class ModuleStep : uint8_t {
  kBuild,      // its source is imported, and ModelNew made
  kWeights,    // it takes its weights
  kFirstCall,  // a call of forward in which it may compile and tune
  kCall,       // another call
  kBetween,    // what of a call is not forward: it gets ready, and hands over its result
  kTimes,      // it times itself as KernelBench does, the first time with gradients
  kProfile,    // its kernels are recorded
};

// The time for one step, and what is said of a candidate that takes longer.
struct ModuleBound {
  std::chrono::nanoseconds time{0};
  std::string words;
};
// `left`: of limits.whole. `expected`: what the calls of kTimes are known to take; three times that is allowed, beyond warming up.
ModuleBound bound_of(const ModuleLimits& limits, ModuleStep step, std::chrono::nanoseconds left,
                     std::chrono::nanoseconds expected = {});

}  // namespace temper::env
