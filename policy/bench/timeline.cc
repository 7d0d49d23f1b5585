#include "policy/bench/timeline.h"

#include <algorithm>

namespace temper::policy {
namespace {

// In order, without overlaps.
std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> all;
  for (const Interval& one : intervals)
    if (!all.empty() && one.begin <= all.back().end)
      all.back().end = std::max(all.back().end, one.end);
    else
      all.push_back(one);
  return all;
}

double seconds(const std::vector<Interval>& intervals) {
  uint64_t ns = 0;
  for (const Interval& one : intervals) ns += one.end - one.begin;
  return double(ns) * 1e-9;
}

}  // namespace

Timeline divide(std::vector<Interval> computing, const std::vector<Interval>& moving) {
  std::vector<Interval> both = computing;
  both.insert(both.end(), moving.begin(), moving.end());
  if (both.empty()) return {};
  both = merged(std::move(both));
  Timeline timeline;
  timeline.all_s = double(both.back().end - both.front().begin) * 1e-9;
  timeline.computing_s = seconds(merged(std::move(computing)));
  timeline.exposed_s = seconds(both) - timeline.computing_s;
  timeline.idle_s = timeline.all_s - seconds(both);
  return timeline;
}

}  // namespace temper::policy
