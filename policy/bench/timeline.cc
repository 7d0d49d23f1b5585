#include "policy/bench/timeline.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

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

// How much of a stretch lies in intervals that do not overlap.
uint64_t covered(const Interval& stretch, const std::vector<Interval>& intervals) {
  uint64_t ns = 0;
  for (const Interval& one : intervals) {
    const uint64_t begin = std::max(stretch.begin, one.begin), end = std::min(stretch.end, one.end);
    if (begin < end) ns += end - begin;
  }
  return ns;
}

}  // namespace

std::vector<Interval> times_of(const std::vector<DeviceWork>& work, bool moves) {
  std::vector<Interval> times;
  for (const DeviceWork& one : work)
    if (one.moves == moves) times.push_back(one.time);
  return times;
}

std::vector<Wait> waits_between(std::vector<DeviceWork> work) {
  if (work.empty()) return {};
  std::ranges::sort(work, {}, [](const DeviceWork& one) { return one.time.begin; });
  const std::vector<Interval> moving = merged(times_of(work, true));
  std::map<std::pair<std::string, std::string>, Wait> waits;
  std::string before = "begin";
  uint64_t computed_until = work.front().time.begin, all_until = computed_until;
  const auto wait_until = [&](uint64_t begin, const std::string& after) {
    if (begin <= computed_until) return;
    const Interval stretch{computed_until, begin};
    const uint64_t exposed = covered(stretch, moving);
    Wait& wait = waits.try_emplace({before, after}, Wait{.before = before, .after = after}).first->second;
    ++wait.count;
    wait.exposed_s += double(exposed) * 1e-9;
    wait.idle_s += double(stretch.end - stretch.begin - exposed) * 1e-9;
  };
  for (const DeviceWork& one : work) {
    all_until = std::max(all_until, one.time.end);
    if (one.moves) continue;
    wait_until(one.time.begin, one.kind);
    if (one.time.end >= computed_until) computed_until = one.time.end, before = one.kind;
  }
  wait_until(all_until, "end");
  std::vector<Wait> sorted;
  for (auto& [kinds, wait] : waits) sorted.push_back(std::move(wait));
  std::ranges::stable_sort(sorted, std::greater(),
                           [](const Wait& wait) { return wait.exposed_s + wait.idle_s; });
  return sorted;
}

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
