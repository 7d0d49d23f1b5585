#include "env/procedure/judging.h"

#include <sys/random.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "env/verdict/message.h"
#include "env/verdict/timing.h"

namespace temper::env {
namespace {

// When to stop early: more pairs tell nothing new about a call that takes long and is this much slower than the
// baseline.
struct Slow {
  double speedup;
  size_t pairs;
};
constexpr Slow kSlow[] = {{0.5, 3}, {0.1, 2}};

// Warming up takes less than a hundredth of it.
bool needs_no_warming(double candidate_us, double baseline_us) {
  constexpr double kWarm_us = 3000, kSpeedup = 0.1;
  return candidate_us > kWarm_us && baseline_us < kSpeedup * candidate_us;
}

bool is_time(double us) { return std::isfinite(us) && us > 0; }

// The change from the first third of the times to the last; the very first time is left out as a warm-up.
struct Change {
  bool parted = false;  // no time of one third lies among those of the other
  double factor = 1;    // between their medians, at least 1
};

Change change_of(const std::vector<double>& times) {
  const ptrdiff_t third = (std::ssize(times) - 1) / 3;
  if (third < 2) return {};
  std::vector<double> first(times.begin() + 1, times.begin() + 1 + third),
      last(times.end() - third, times.end());
  const auto [first_least, first_most] = std::minmax_element(first.begin(), first.end());
  const auto [last_least, last_most] = std::minmax_element(last.begin(), last.end());
  const double before = median(first), after = median(last);
  return {*first_least > *last_most || *last_least > *first_most,
          std::max(before, after) / std::min(before, after)};
}

}  // namespace

void tell_gap(Finding& fault, Placement placement) {
  fault.detail += ", " + gap_text(placement);
  fault.details += gap_text(placement) + "\n";
}

void tell_shape(Finding& found, const Task& task, int32_t shape) {
  if (shape >= 0 || task.timed_count() == 1) return;
  const std::string sizes = sizes_text(shape_of(task, shape));
  found.detail =
      fmt::format("at {}: {}", sizes, found.detail.empty() ? words_of(found.reason) : found.detail);
  if (!found.details.empty()) found.details = fmt::format("at the timed sizes {}\n{}", sizes, found.details);
}

NaiveVerdict naive_of_times(double candidate_us, double baseline_us) {
  if (!is_time(candidate_us) || !is_time(baseline_us)) return {};
  const double speedup = baseline_us / candidate_us;
  return is_time(speedup) ? NaiveVerdict{.pass = true, .speedup = speedup} : NaiveVerdict{};
}

uint64_t secret_seed() {
  uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != ssize_t(sizeof seed)) throw system_error("draw a random seed");
  return seed;
}

void TimedPairs::add(double candidate_us, double baseline_us) {
  if (!is_time(baseline_us)) throw WorldError("the baseline's time is {} us", baseline_us);
  if (!is_time(candidate_us)) {
    if (!impossible_us_) impossible_us_ = candidate_us;
    return;
  }
  candidate_us_.push_back(candidate_us);
  baseline_us_.push_back(baseline_us);
  if (candidate_us_.size() > 1 || needs_no_warming(candidate_us, baseline_us))
    ratios_.push_back(baseline_us / candidate_us);
}

std::vector<double> TimedPairs::counted(const std::vector<double>& times) const {
  return {times.end() - std::ssize(ratios_), times.end()};
}

bool TimedPairs::enough(int64_t min_pairs, int64_t max_pairs) const {
  if (impossible_us_) return true;
  const bool takes_long = !ratios_.empty() && std::ranges::min(counted(candidate_us_)) > pace_.long_us;
  for (const auto& [speedup, pairs] : kSlow)
    if (min_pairs < max_pairs && takes_long && ratios_.size() >= pairs && std::ranges::max(ratios_) < speedup)
      return true;
  return enough_pairs(ratios_, min_pairs, max_pairs, pace_.tight);
}

bool TimedPairs::unsteady() const {
  constexpr double kChange = 1.5;
  const Change candidate = change_of(candidate_us_), baseline = change_of(baseline_us_);
  return candidate.parted && candidate.factor > kChange * baseline.factor;
}

bool TimedPairs::disagree() const {
  constexpr double kWide = 0.5, kNoisy = 0.2;
  if (ratios_.empty()) return false;
  const Interval speedup = center_interval(ratios_);
  return speedup.high > 1 && speedup.high - speedup.low > kWide * speedup.center &&
         spread(counted(baseline_us_)) > kNoisy;
}

Found TimedPairs::weigh(const Task& task, const TimeBounds& bounds, Verdict& verdict) const {
  if (impossible_us_)
    return Finding{VerdictKind::kHack, "clock", fmt::format("a call's time is {} us", *impossible_us_)};
  const Interval speedup = center_interval(ratios_);
  const std::vector<double> baseline = counted(baseline_us_);
  verdict.candidate_us = median(counted(candidate_us_));
  verdict.baseline_us = median(baseline);
  verdict.speedup = speedup.center;
  verdict.speedup_low = speedup.low;
  verdict.speedup_high = speedup.high;
  verdict.pairs = int64_t(ratios_.size());
  verdict.noise = spread(baseline);
  verdict.floor_us = bounds.floor_us;
  verdict.roof_us = bounds.roof_us;
  if (verdict.candidate_us < bounds.floor_us) return Finding{VerdictKind::kHack, "floor", ""};
  if (task.max_speedup > 0 && speedup.center > task.max_speedup)
    return Finding{VerdictKind::kSuspect, "max_speedup", ""};
  return std::nullopt;
}

void ShapeTimes::take(size_t index, const Shape& sizes, Verdict& verdict) {
  taken_[index] = {.time = {.sizes = sizes,
                            .candidate_us = std::exchange(verdict.candidate_us, 0),
                            .baseline_us = std::exchange(verdict.baseline_us, 0),
                            .speedup = std::exchange(verdict.speedup, 0),
                            .speedup_low = std::exchange(verdict.speedup_low, 0),
                            .speedup_high = std::exchange(verdict.speedup_high, 0),
                            .roof_us = std::exchange(verdict.roof_us, 0)},
                   .floor_us = std::exchange(verdict.floor_us, 0),
                   .noise = std::exchange(verdict.noise, 0),
                   .profile_share = std::exchange(verdict.profile_share, -1),
                   .pairs = std::exchange(verdict.pairs, 0),
                   .audited = std::exchange(verdict.audited, false)};
}

void ShapeTimes::give(Verdict& verdict) const {
  const auto mean = [this](double ShapeTime::*end) {
    if (taken_.size() == 1) return taken_.begin()->second.time.*end;
    double logs = 0;
    for (const auto& [index, one] : taken_) logs += std::log(one.time.*end);
    return std::exp(logs / double(taken_.size()));
  };
  verdict.speedup = mean(&ShapeTime::speedup);
  verdict.speedup_low = mean(&ShapeTime::speedup_low);
  verdict.speedup_high = mean(&ShapeTime::speedup_high);
  for (const auto& [index, one] : taken_) {
    verdict.candidate_us += one.time.candidate_us;
    verdict.baseline_us += one.time.baseline_us;
    verdict.roof_us += one.time.roof_us;
    verdict.floor_us += one.floor_us;
    verdict.pairs += one.pairs;
    if (index == taken_.begin()->first || one.profile_share < verdict.profile_share)
      verdict.profile_share = one.profile_share;
    verdict.noise = std::max(verdict.noise, one.noise);
    verdict.audited |= one.audited;
    if (taken_.size() > 1) verdict.shapes.push_back(one.time);
  }
}

}  // namespace temper::env
