#include "env/kernelbench/module_times.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "env/verdict/timing.h"

namespace temper::env {
namespace {

constexpr Pace kModulePace{.long_us = 200, .tight = 0.03};
constexpr double kLeastCall_us = 1.0;
// A call that ends in less than this share of what an empty one takes has not waited for its turn on the GPU, as all must that
// launch a kernel: it was computed elsewhere.
constexpr double kEarly = 0.5;
// Of calls that are alike the rests of whole calls differ by less, nineteen times in twenty on a GPU of a busy host.
constexpr double kRestSlack_us = 50;
// By how much the rest of a call must be longer than that of a call of the baseline to be late, at least, and in parts of the call.
// Less gains nothing, since it is counted, and may be what another core's cache costs.
constexpr double kLateSlack_us = 150, kLateShare = 0.25;
// How often a call of the candidate is late beside one of the baseline, from which on it is no accident. Of calls that are alike
// it is a half, and with 63 pairs of them a twentieth more or less.
constexpr double kLate = 0.8;

}  // namespace

void ModulePairs::add(const CandidateProcess::Call& candidate, const CandidateProcess::Call& baseline) {
  const nlohmann::json& told = baseline.answer.json;
  const double own_us = told.contains("own_us") ? told.at("own_us").get<double>() : -1;
  if (!(own_us >= 0 && own_us <= baseline.us))
    throw WorldError("the baseline says that its module took {} us of {} us", own_us, baseline.us);
  candidate_.push_back(times_in(candidate));
  baseline_.push_back(times_in(baseline));
  own_us_.push_back(own_us);
}

bool ModulePairs::enough(int64_t min_pairs, int64_t max_pairs) const {
  return times().enough(min_pairs, max_pairs);
}

ModuleOverhead ModulePairs::overhead() const {
  if (baseline_.empty()) return {};
  std::vector<double> calls;
  for (size_t i = 0; i < baseline_.size(); ++i) calls.push_back(baseline_[i].us - own_us_[i]);
  return {.call_us = median(calls), .call_spread_us = spread(calls) * median(calls)};
}

// What a whole call takes beyond the module. Where only some calls of the candidate work late, these are the short ones, and what
// they take in the end still counts.
double ModulePairs::rest_of(const std::vector<Times>& calls) {
  std::vector<double> whole, timed;
  for (const Times& call : calls) {
    whole.push_back(call.us + call.rest_us);
    timed.push_back(call.us);
  }
  return lower_quartile(std::move(whole)) - lower_quartile(std::move(timed));
}

double ModulePairs::late_us() const {
  if (candidate_.empty()) return 0;
  const double slack_us = std::max(kRestSlack_us, range_us(baseline_, &Times::rest_us) / 2);
  return std::max(0.0, rest_of(candidate_) - rest_of(baseline_) - slack_us);
}

double ModulePairs::time_of(const Times& call, const ModuleOverhead& overhead) {
  if (call.us < kEarly * overhead.call_us) return call.us;
  return std::max(call.us - overhead.call_us, std::max(kLeastCall_us, overhead.call_spread_us));
}

TimedPairs ModulePairs::times() const {
  const ModuleOverhead taken = overhead();
  const double late = late_us();
  TimedPairs pairs(kModulePace);
  for (size_t i = 0; i < candidate_.size(); ++i)
    pairs.add(time_of(candidate_[i], taken) + late, time_of(baseline_[i], taken));
  return pairs;
}

TimeBounds ModulePairs::bounds_of(TimeBounds exact) const {
  return {.floor_us = std::max(0.0, exact.floor_us - overhead().call_spread_us), .roof_us = exact.roof_us};
}

ModulePairs::Times ModulePairs::times_in(const CandidateProcess::Call& call) {
  return {.us = call.us, .rest_us = call.rest_us, .waited_us = call.waited_us, .helpers_us = call.helpers_us};
}

double ModulePairs::Times::least_late_us() const { return rest_us - waited_us; }

double ModulePairs::Times::most_late_us() const { return rest_us - std::max(0.0, waited_us - helpers_us); }

// Between the quartiles. Work that goes on takes about as long each time. Who waits for a core that others use waits now long,
// now not at all, and may do so in one process alone.
template <class Rest>
double ModulePairs::range_us(const std::vector<Times>& calls, const Rest& rest_of_call) {
  std::vector<double> rests;
  for (const Times& call : calls) rests.push_back(std::invoke(rest_of_call, call));
  return 2 * spread(rests) * median(rests);
}

template <class Rest>
bool ModulePairs::nearly_always_late(const Rest& rest_of_call) const {
  if (candidate_.empty()) return false;
  const double varies_us = std::max(range_us(candidate_, rest_of_call), range_us(baseline_, rest_of_call));
  int64_t late = 0;
  for (const Times& mine : candidate_) {
    const double less_us =
        std::invoke(rest_of_call, mine) - std::max({kLateSlack_us, kLateShare * mine.us, varies_us});
    for (const Times& other : baseline_) late += less_us > std::invoke(rest_of_call, other);
  }
  return double(late) > kLate * double(candidate_.size() * baseline_.size());
}

bool ModulePairs::works_on() const { return nearly_always_late(&Times::least_late_us); }

bool ModulePairs::may_work_on() const { return nearly_always_late(&Times::most_late_us); }

}  // namespace temper::env
