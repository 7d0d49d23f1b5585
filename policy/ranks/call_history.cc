#include "policy/ranks/call_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

namespace temper::policy {
namespace {

constexpr size_t kFar = 64;    // calls that may be left out or added in one place
constexpr size_t kAhead = 16;  // calls behind them that are compared

using Histories = std::vector<const CallHistory*>;

// Ranks whose call of some number is the same.
struct Camp {
  std::string call;
  std::vector<int> ranks;
};

// What a call is, without its shape: `all-reduce "gradient norm"`.
std::string_view name_of_call(const std::string& text) {
  return std::string_view(text).substr(0, text.rfind('"') + 1);
}

std::optional<uint64_t> digest_before(const CallHistory& history, uint64_t call) {
  if (call < history.first || (call - history.first) % CallHistory::kMarkEvery != 0) return std::nullopt;
  const uint64_t mark = (call - history.first) / CallHistory::kMarkEvery;
  if (mark >= history.marks.size()) return std::nullopt;
  return history.marks[mark];
}

template <class TextOf>
std::vector<Camp> find_camps(const Histories& by_rank, const TextOf& text_of) {
  std::vector<Camp> camps;
  for (size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (!by_rank[rank]) continue;
    const std::optional<std::string> text = text_of(*by_rank[rank]);
    if (!text) continue;
    const auto found = std::ranges::find(camps, *text, &Camp::call);
    Camp& camp = found == camps.end() ? camps.emplace_back(Camp{*text, {}}) : *found;
    camp.ranks.push_back(int(rank));
  }
  std::ranges::stable_sort(camps, std::ranges::greater(), [](const Camp& c) { return c.ranks.size(); });
  return camps;
}

std::vector<Camp> camps_before(const Histories& by_rank, uint64_t call) {
  return find_camps(by_rank, [&](const CallHistory& history) -> std::optional<std::string> {
    const auto digest = digest_before(history, call);
    return digest ? std::optional(std::to_string(*digest)) : std::nullopt;
  });
}

std::vector<Camp> camps_at(const Histories& by_rank, uint64_t call) {
  return find_camps(by_rank, [&](const CallHistory& history) {
    return history.has(call) ? std::optional(history.text(call)) : std::nullopt;
  });
}

using CallNames = std::vector<std::string_view>;

CallNames names_in(const CallHistory& history, uint64_t begin, uint64_t end) {
  CallNames names;
  for (uint64_t call = begin; call < end; ++call) names.push_back(name_of_call(history.text(call)));
  return names;
}

// What followed when the last of these calls came before, among the first `past` of them: behind the place
// that is like the end for longest.
CallNames followed_before(const CallNames& names, size_t past) {
  if (names.empty() || past == 0) return {};
  size_t best = 0, longest = 0;
  for (size_t end = std::min(names.size(), past) - 1; end > 0; --end) {
    size_t alike = 0;
    while (alike < end && alike < kFar && names[end - 1 - alike] == names[names.size() - 1 - alike]) ++alike;
    if (alike > longest) best = end, longest = alike;
  }
  if (longest == 0) return {};
  return {names.begin() + int64_t(best), names.begin() + int64_t(std::min(past, best + kFar + kAhead))};
}

// A rank's calls from one on, and behind the last of them what it did in such a place before.
struct Likely {
  CallNames names;
  size_t made;  // of them: the rest may come
};

Likely likely_from(const CallHistory& history, uint64_t call) {
  Likely likely = {names_in(history, call, std::min(history.end(), call + kFar + kAhead)), 0};
  likely.made = likely.names.size();
  if (likely.made == kFar + kAhead) return likely;
  const CallNames all = names_in(history, history.first, history.end());
  const CallNames followed = followed_before(all, size_t(call - history.first));
  likely.names.insert(likely.names.end(), followed.begin(), followed.end());
  return likely;
}

// How well it fits that `less` has left out the first `count` of `more`: calls that both have made behind it
// count more than all that may come.
struct Fit {
  size_t made = 0;  // calls alike, up to the first that contradicts
  size_t expected = 0;
  bool contradicted = true;
};

Fit fit_without(const Likely& more, size_t count, const Likely& less) {
  if (count >= more.names.size()) return {};
  const size_t both = std::min({more.names.size() - count, less.names.size(), kAhead});
  const size_t made = std::min({more.made - std::min(more.made, count), less.made, kAhead});
  size_t alike = 0;
  while (alike < both && more.names[count + alike] == less.names[alike]) ++alike;
  if (alike < made) return {.made = alike, .expected = 0, .contradicted = true};
  return {.made = made, .expected = alike - made, .contradicted = false};
}

enum class Unlike : uint8_t { kShape, kLeftOut, kAdded, kInPlace, kUnclear };

// How one rank's call differs from what the most have called there.
struct Difference {
  Unlike kind = Unlike::kUnclear;
  size_t calls = 0;  // that were left out or added
};

// Where it fits best that calls were left out, or added; kUnclear where it nowhere does, or both as well.
struct BestFit {
  Difference difference;
  Fit fit;
};

BestFit best_fit(const Likely& theirs, const Likely& its, bool contradicted) {
  const auto better = [&](const Fit& fit, const Fit& than) {
    return fit.contradicted == contradicted &&
           std::pair(fit.made, fit.expected) > std::pair(than.made, than.expected);
  };
  BestFit left_out, added;
  for (size_t calls = 1; calls <= kFar; ++calls) {
    if (const Fit fit = fit_without(theirs, calls, its); better(fit, left_out.fit))
      left_out = {{Unlike::kLeftOut, calls}, fit};
    if (const Fit fit = fit_without(its, calls, theirs); better(fit, added.fit))
      added = {{Unlike::kAdded, calls}, fit};
  }
  return better(left_out.fit, added.fit) ? left_out : better(added.fit, left_out.fit) ? added : BestFit{};
}

// Where no call was exchanged for another one's, all that follows fits. Else the ranks have taken each other's
// numbers for their own and may have gone on as they never did; then more calls that are alike at first say
// more than fewer, further on, that nothing contradicts.
Difference find_unlike(const CallHistory& most, const CallHistory& odd, uint64_t call) {
  if (name_of_call(most.text(call)) == name_of_call(odd.text(call))) return {Unlike::kShape};
  const Likely theirs = likely_from(most, call), its = likely_from(odd, call);
  const BestFit whole = best_fit(theirs, its, false), begun = best_fit(theirs, its, true);
  const bool nearer = begun.fit.made > whole.fit.made && begun.difference.calls < whole.difference.calls;
  const BestFit& best = nearer || whole.difference.kind == Unlike::kUnclear ? begun : whole;
  if (best.difference.kind != Unlike::kUnclear) return best.difference;
  const auto compared = int64_t(std::min({theirs.made, its.made, kAhead}));
  const bool go_on_alike =
      std::equal(theirs.names.begin() + 1, theirs.names.begin() + compared, its.names.begin() + 1);
  return {compared > 1 && go_on_alike ? Unlike::kInPlace : Unlike::kUnclear};
}

std::string and_more(size_t calls) { return calls > 1 ? fmt::format(" and {} more", calls - 1) : ""; }

std::string text_against_most(const Difference& difference, uint64_t call, const std::string& theirs,
                              const std::string& its) {
  switch (difference.kind) {
    case Unlike::kLeftOut:
      return fmt::format("it left out call {}, the {}{}, and went on with the {}", call, theirs,
                         and_more(difference.calls), its);
    case Unlike::kAdded:
      return fmt::format(
          "its call {}, the {}{}, is one that the others did not make; they went on with the {}", call, its,
          and_more(difference.calls), theirs);
    case Unlike::kInPlace:
      return fmt::format("it made the {} as call {}, in place of the {}", its, call, theirs);
    case Unlike::kShape:
      return fmt::format("its call {} is the {}, that of the others the {}", call, its, theirs);
    case Unlike::kUnclear:
      break;
  }
  return fmt::format(
      "its call {} is the {}, that of the others the {}: it left out the latter, or the former is one that "
      "the "
      "others did not make",
      call, its, theirs);
}

// What all had called in such a place before, if it was one of the two calls.
std::string before_text(const CallHistory& history, uint64_t call, const std::string& one,
                        const std::string& other) {
  const CallNames past = names_in(history, history.first, call),
                  followed = followed_before(past, past.size());
  if (followed.empty()) return "";
  for (const std::string* text : {&one, &other})
    if (followed.front() == name_of_call(*text))
      return fmt::format("; earlier in the run it was the {} that came there", followed.front());
  return "";
}

// Where nobody is in the majority, both sides are said.
std::string text_of_both(const CallHistory& a, const CallHistory& b, uint64_t call, const Camp& of_a,
                         const Camp& of_b) {
  const std::string sides =
      fmt::format("have made different collective calls: call {} is the {} on {}, the {} on {}", call,
                  of_a.call, ranks_text(of_a.ranks), of_b.call, ranks_text(of_b.ranks));
  const Difference difference = find_unlike(a, b, call);
  if (difference.kind == Unlike::kShape || difference.kind == Unlike::kInPlace) return sides;
  const bool added = difference.kind == Unlike::kAdded;
  const Camp &less = added ? of_a : of_b, &more = added ? of_b : of_a;
  std::string text =
      fmt::format("{}: {} left out the {}{}, or {} made it once too often", sides, ranks_text(less.ranks),
                  more.call, and_more(difference.calls), ranks_text(more.ranks));
  if (difference.kind == Unlike::kUnclear)
    text = fmt::format("{}: one of the two calls was left out, or is one too many", sides);
  return text + before_text(a, call, of_a.call, of_b.call);
}

std::string likewise_text(const std::vector<Camp>& camps) {
  std::vector<int> more(camps[1].ranks.begin() + 1, camps[1].ranks.end());
  for (size_t i = 2; i < camps.size(); ++i)
    more.insert(more.end(), camps[i].ranks.begin(), camps[i].ranks.end());
  std::ranges::sort(more);
  return more.empty() ? "" : fmt::format("; {} are unlike the most, too", ranks_text(more));
}

// Of the ranks of a camp, whose history goes furthest: it tells most of what comes behind the call.
const CallHistory& longest_of(const Histories& by_rank, const Camp& camp) {
  const auto end_of = [&](int rank) { return by_rank[size_t(rank)]->end(); };
  return *by_rank[size_t(*std::ranges::max_element(camp.ranks, {}, end_of))];
}

// `camps`: two at least, the largest first.
Parting describe_parting(const Histories& by_rank, uint64_t call, const std::vector<Camp>& camps, bool kept) {
  size_t there = 0;
  for (const Camp& camp : camps) there += camp.ranks.size();
  const bool majority = camps[0].ranks.size() > camps[1].ranks.size();
  const int one = camps[0].ranks[0], other = camps[1].ranks[0];
  Parting parting;
  parting.certain = 2 * camps[0].ranks.size() > by_rank.size() || there == by_rank.size();
  parting.rank = majority ? other : one;
  parting.other = majority ? -1 : other;
  const CallHistory &first = longest_of(by_rank, camps[0]), &second = longest_of(by_rank, camps[1]);
  if (!kept)
    parting.what = fmt::format(
        "{}: they parted before call {}, the oldest that is kept",
        majority ? "has made other collective calls than the others" : "have made different collective calls",
        call);
  else if (majority)
    parting.what = "has made other collective calls than the others: " +
                   text_against_most(find_unlike(first, second, call), call, camps[0].call, camps[1].call) +
                   likewise_text(camps);
  else
    parting.what = text_of_both(first, second, call, camps[0], camps[1]);
  return parting;
}

}  // namespace

std::string ranks_text(const std::vector<int>& ranks) {
  constexpr size_t kShown = 4;
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  const size_t shown = ranks.size() > kShown ? kShown - 1 : ranks.size() - 1;
  std::string text = "ranks ";
  for (size_t i = 0; i < shown; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  if (ranks.size() > kShown) return text + fmt::format(" and {} more", ranks.size() - shown);
  return text + fmt::format(" and {}", ranks.back());
}

nlohmann::json to_json(const CallHistory& history) {
  return {
      {"first", history.first}, {"marks", history.marks}, {"texts", history.texts}, {"calls", history.calls}};
}

CallHistory history_from(const nlohmann::json& json) {
  CallHistory history;
  json.at("first").get_to(history.first);
  json.at("marks").get_to(history.marks);
  json.at("texts").get_to(history.texts);
  json.at("calls").get_to(history.calls);
  const auto outside = [&](uint32_t text) { return text >= history.texts.size(); };
  constexpr uint64_t kMostCalls = uint64_t(1) << 62;
  if (history.first > kMostCalls || history.first % CallHistory::kMarkEvery != 1 ||
      std::ranges::any_of(history.calls, outside))
    throw std::runtime_error("no history of calls");
  return history;
}

std::optional<Parting> find_parting(const Histories& by_rank) {
  uint64_t begin = 1, end = 1, all_have = UINT64_MAX;
  for (const CallHistory* history : by_rank) {
    if (!history) continue;
    begin = std::max(begin, history->first);
    end = std::max(end, history->end());
    all_have = std::min(all_have, history->end());
  }
  if (const auto camps = camps_before(by_rank, begin); camps.size() > 1)
    return describe_parting(by_rank, begin, camps, false);
  for (uint64_t mark = begin; mark <= all_have && camps_before(by_rank, mark).size() < 2;
       mark += CallHistory::kMarkEvery)
    begin = mark;
  for (uint64_t call = begin; call < end; ++call)
    if (const auto camps = camps_at(by_rank, call); camps.size() > 1)
      return describe_parting(by_rank, call, camps, true);
  return std::nullopt;
}

}  // namespace temper::policy
