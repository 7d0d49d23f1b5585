#include "policy/ranks/watch_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace temper::policy {
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

// Whether a rank has made a call that another one has not, and which: the last of the communicator where it
// is.
const CallTrace::Point* call_ahead(const Watched& rank, const Watched& of) {
  for (size_t i = 0; i < std::min(rank.calls.size(), of.calls.size()); ++i)
    if (rank.calls[i].calls > of.calls[i].calls) return &rank.calls[i];
  return nullptr;
}

std::string call_text(const CallTrace::Point& point) {
  return fmt::format("call {}, the {}", point.calls, point.last);
}

// "rank 0 waits in call 57, the …; ranks 2 and 3 wait in …", of ranks for which `call_of` gives a text.
template <class CallOf>
std::string waits_text(const std::vector<Watched>& ranks, const CallOf& call_of) {
  std::map<std::string, std::vector<int>> by_call;
  for (size_t r = 0; r < ranks.size(); ++r)
    if (waits(ranks[r]))
      if (const std::string call = call_of(ranks[r]); !call.empty()) by_call[call].push_back(int(r));
  std::string text;
  for (const auto& [call, who] : by_call)
    text += fmt::format("{}{} {} in {}", text.empty() ? "" : "; ", ranks_text(who),
                        who.size() == 1 ? "waits" : "wait", call);
  return text;
}

// Who waits in which call that `of` has not made.
std::string waits_without(const std::vector<Watched>& ranks, const Watched& of) {
  return waits_text(ranks, [&](const Watched& rank) {
    const CallTrace::Point* ahead = call_ahead(rank, of);
    return ahead ? call_text(*ahead) : "";
  });
}

// Where there are several communicators, the last one is that in which ranks train and wait.
std::string waits_of_all(const std::vector<Watched>& ranks) {
  return waits_text(
      ranks, [](const Watched& rank) { return rank.calls.empty() ? "" : call_text(rank.calls.back()); });
}

std::string behind_colon(const std::string& text) { return text.empty() ? "" : ": " + text; }

}  // namespace

std::string place_text(const Activity& activity) {
  if (activity.collective.empty()) return fmt::format("in {}", activity.phase);
  return fmt::format("in {}, in the collective \"{}\"", activity.phase, activity.collective);
}

std::optional<Trouble> find_lost(const std::vector<Watched>& ranks, double now, const WatchOptions& options) {
  for (size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r].lost && !ranks[r].left)
      return Trouble{int(r),
                     (ranks[r].broken.empty() ? "was killed or crashed" : ranks[r].broken) + " " +
                         place_text(ranks[r].activity),
                     !ranks[r].broken.empty()};
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
          fmt::format("hangs {}: no progress for {:.0f} s while others wait in the collective \"{}\"{}",
                      place_text(ranks[r].activity), now - ranks[r].moved_s, wait.collective,
                      behind_colon(waits_without(ranks, ranks[r]))),
          true};
  if (std::ranges::all_of(ranks, [&](const Watched& rank) { return rank.left || waits(rank); }))
    return Trouble{-1,
                   fmt::format("all ranks have waited in the collective \"{}\" for {:.0f} s{}",
                               wait.collective, wait.seconds, behind_colon(waits_of_all(ranks))),
                   false};
  return std::nullopt;
}

std::optional<Trouble> find_left_out(const std::vector<Watched>& ranks) {
  for (size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r].left)
      if (const std::string text = waits_without(ranks, ranks[r]); !text.empty())
        return Trouble{int(r), "has come to its end and left out a collective call: " + text, false};
  return std::nullopt;
}

void compare_calls(Watched& rank, const std::vector<std::shared_ptr<const CallTrace>>& own) {
  for (size_t i = 0; i < std::min(own.size(), rank.calls.size()) && rank.differs.empty(); ++i) {
    const CallTrace::Point& theirs = rank.calls[i];
    const auto ours = own[i]->after(theirs.calls);
    if (!ours || ours->digest == theirs.digest) continue;
    rank.differs = ours->last == theirs.last
                       ? fmt::format("of {} calls, the last of which is the {}, one before it is another",
                                     theirs.calls, theirs.last)
                       : fmt::format("its call {} is the {}, that of rank 0 the {}", theirs.calls,
                                     theirs.last, ours->last);
  }
}

std::optional<Trouble> find_differing(const std::vector<Watched>& ranks) {
  const auto differs = [](const Watched& rank) { return !rank.differs.empty(); };
  const auto first = std::ranges::find_if(ranks, differs);
  if (first == ranks.end()) return std::nullopt;
  if (ranks.size() == 2)
    return Trouble{1, "has made other collective calls than rank 0: " + first->differs, true};
  if (std::all_of(ranks.begin() + 1, ranks.end(), differs))
    return Trouble{0, "has made other collective calls than all others; of rank 1: " + ranks[1].differs,
                   false};
  return Trouble{int(first - ranks.begin()),
                 "has made other collective calls than the others: " + first->differs, true};
}

std::string waiting_text(const std::vector<Watched>& ranks, double now, const WatchOptions& options) {
  const LongestWait wait = longest_wait(ranks, now);
  if (wait.seconds < options.report_s) return "";
  for (size_t r = 0; r < ranks.size(); ++r)
    if (!ranks[r].left && !waits(ranks[r]))
      return fmt::format("waiting for rank {}: {}, {:.0f} s", r, ranks[r].activity.phase, wait.seconds);
  return "";
}

}  // namespace temper::policy
