#include "env/kernelbench/module_limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kLeastCall{5'000'000'000};
constexpr int64_t kCallFactor = 100, kBuildFactor = 3;  // times what the baseline took
constexpr int64_t kTimesFactor = 3;                     // times what calls took before

double seconds_of(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

nanoseconds limit_of(const ModuleLimits& limits, ModuleStep step, nanoseconds expected) {
  switch (step) {
    case ModuleStep::kBuild:
    case ModuleStep::kFirstCall:
    case ModuleStep::kProfile:
      return limits.warm_up;
    case ModuleStep::kTimes:
      return limits.warm_up + kTimesFactor * expected;
    case ModuleStep::kWeights:
    case ModuleStep::kCall:
    case ModuleStep::kBetween:
      break;
  }
  return limits.call;
}

// What took long, and what to do about it.
std::string words_of_step(ModuleStep step, nanoseconds limit) {
  const auto words = [&](const char* where, const char* advice) {
    return fmt::format("took more than {:.3g} s {}; {}", seconds_of(limit), where, advice);
  };
  constexpr const char* kTuneLess = "compile less and tune fewer configurations there, and see that it ends";
  switch (step) {
    case ModuleStep::kBuild:
      return words("to be imported and built", "do less there, and see that it ends");
    case ModuleStep::kFirstCall:
      return words("in its first call of forward", kTuneLess);
    case ModuleStep::kTimes:
      return words("in calls of forward that keep gradients", kTuneLess);
    case ModuleStep::kProfile:
      return words("while its kernels were recorded", "compute in forward alone");
    case ModuleStep::kWeights:
      return words("to take its weights", "leave state_dict as nn.Module has it");
    case ModuleStep::kBetween:
      return words("before or after a call of forward", "end all work before forward returns");
    case ModuleStep::kCall:
      break;
  }
  return words("in a call of forward after the first", "compute less in each, and see that it ends");
}

}  // namespace

ModuleLimits module_limits(nanoseconds whole, nanoseconds warm_up, const ModuleCost& baseline) {
  const nanoseconds call = std::max(kLeastCall, kCallFactor * baseline.call);
  return {whole, std::max({warm_up, call, kBuildFactor * baseline.build}), call};
}

ModuleBound bound_of(const ModuleLimits& limits, ModuleStep step, nanoseconds left, nanoseconds expected) {
  const nanoseconds limit = limit_of(limits, step, expected);
  if (limit <= left) return {limit, words_of_step(step, limit)};
  return {std::max(left, nanoseconds(0)),
          fmt::format("took more than {:.3g} s in all: importing, building and all calls; do less in each",
                      seconds_of(limits.whole))};
}

}  // namespace temper::env
