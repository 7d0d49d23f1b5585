#include "env/kernelbench/module_times.h"

#include <algorithm>

#include "base/error.h"
#include "env/verdict/timing.h"

namespace temper::env {
namespace {

constexpr Pace kModulePace{.long_us = 200, .tight = 0.03};
constexpr double kLeastCall_us = 1.0;
// By how many spreads of an honest call it is not by chance below what it should be: some four standard deviations.
constexpr double kFarBelow = 6;

}  // namespace

double own_us_of(const CandidateProcess::Call& baseline) {
  const nlohmann::json& told = baseline.answer.json;
  const double own_us = told.contains("own_us") ? told.at("own_us").get<double>() : -1;
  if (!(own_us >= 0 && own_us <= baseline.us))
    throw WorldError("the baseline says that its module took {} us of {} us", own_us, baseline.us);
  return own_us;
}

void ModulePairs::add(const CandidateProcess::Call& candidate, const CandidateProcess::Call& baseline) {
  own_us_.push_back(own_us_of(baseline));
  candidate_us_.push_back(candidate.us);
  baseline_us_.push_back(baseline.us);
}

bool ModulePairs::enough(int64_t min_pairs, int64_t max_pairs) const {
  return times().enough(min_pairs, max_pairs);
}

ModuleOverhead ModulePairs::overhead() const {
  if (baseline_us_.empty()) return {};
  std::vector<double> calls;
  for (size_t i = 0; i < baseline_us_.size(); ++i) calls.push_back(baseline_us_[i] - own_us_[i]);
  return {.call_us = median(calls), .call_spread_us = spread(calls) * median(calls)};
}

TimedPairs ModulePairs::times() const {
  const ModuleOverhead taken = overhead();
  const double least_us = std::max(kLeastCall_us, taken.call_spread_us);
  TimedPairs pairs(kModulePace);
  for (size_t i = 0; i < candidate_us_.size(); ++i)
    pairs.add(std::max(candidate_us_[i] - taken.call_us, least_us),
              std::max(baseline_us_[i] - taken.call_us, least_us));
  return pairs;
}

TimeBounds ModulePairs::bounds_of(TimeBounds exact) const {
  return {.floor_us = std::max(0.0, exact.floor_us - overhead().call_spread_us), .roof_us = exact.roof_us};
}

int64_t ModulePairs::below(const TimeBounds& exact) const {
  const ModuleOverhead taken = overhead();
  const double least_us = taken.call_us + exact.floor_us - kFarBelow * taken.call_spread_us;
  return std::ranges::count_if(candidate_us_, [&](double us) { return us < least_us; });
}

double ModulePairs::own_us() const { return own_us_.empty() ? 0 : median(own_us_); }

}  // namespace temper::env
