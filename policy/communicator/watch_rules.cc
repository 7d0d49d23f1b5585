#include "policy/communicator/watch_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace temper {
namespace {

bool waits(const Watched& rank) { return !rank.left && !rank.activity.collective.empty(); }

// The longest wait in a collective, with what it is for.
struct LongestWait {
  double seconds = 0;
  std::string collective;
};

LongestWait longest_wait(const std::vector<Watched>& ranks, double now) {
  LongestWait longest;
  for (const Watched& rank : ranks)
    if (waits(rank) && now - rank.moved_s > longest.seconds)
      longest = {now - rank.moved_s, rank.activity.collective};
  return longest;
}

}  // namespace

std::string place_text(const Activity& activity) {
  if (activity.collective.empty()) return fmt::format("in {}", activity.phase);
  return fmt::format("in {}, in the collective \"{}\"", activity.phase, activity.collective);
}

std::optional<Trouble> find_lost(const std::vector<Watched>& ranks, double now, const WatchOptions& options) {
  for (size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r].lost && !ranks[r].left)
      return Trouble{int(r), "was killed or crashed " + place_text(ranks[r].activity), false};
  for (size_t r = 0; r < ranks.size(); ++r)
    if (!ranks[r].left && now - ranks[r].heard_s > options.silence_s)
      return Trouble{int(r),
                     fmt::format("has given no sign of life for {:.0f} s {} (stopped, or its host is gone)",
                                 now - ranks[r].heard_s, place_text(ranks[r].activity)),
                     true};
  return std::nullopt;
}

std::optional<Trouble> find_hung(const std::vector<Watched>& ranks, double now, const WatchOptions& options) {
  const LongestWait wait = longest_wait(ranks, now);
  if (wait.seconds <= options.timeout_s) return std::nullopt;
  for (size_t r = 0; r < ranks.size(); ++r)
    if (!waits(ranks[r]) && now - ranks[r].moved_s > options.timeout_s)
      return Trouble{
          int(r),
          fmt::format("hangs {}: no progress for {:.0f} s while others wait in the collective \"{}\"",
                      place_text(ranks[r].activity), now - ranks[r].moved_s, wait.collective),
          true};
  if (std::ranges::all_of(ranks, [&](const Watched& rank) { return rank.left || waits(rank); }))
    return Trouble{-1,
                   fmt::format("all ranks have waited in the collective \"{}\" for {:.0f} s", wait.collective,
                               wait.seconds),
                   false};
  return std::nullopt;
}

std::string waiting_text(const std::vector<Watched>& ranks, double now, const WatchOptions& options) {
  const LongestWait wait = longest_wait(ranks, now);
  if (wait.seconds < options.report_s) return "";
  for (size_t r = 0; r < ranks.size(); ++r)
    if (!ranks[r].left && !waits(ranks[r]))
      return fmt::format("waiting for rank {}: {}, {:.0f} s", r, ranks[r].activity.phase, wait.seconds);
  return "";
}

}  // namespace temper
