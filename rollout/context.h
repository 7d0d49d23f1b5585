#pragma once
// What a turn is shown of the turns before it.
//
// Source: Kevin, 2507.11948: old reasoning is dropped, each kernel, the model's own summary and the
//         feedback are kept; Dr. Kernel, 2602.05885: the best w turns are shown.

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/options.h"
#include "policy/text/chat_format.h"
#include "rollout/trajectory.h"

namespace temper {

struct ContextOptions {
  // append: everything, in one row. Under the other rules each turn is a row of its own, which begins with
  // the task: drop_reasoning: the code block of each earlier answer and its feedback. summaries: the same,
  // and what the policy wrote when it was asked to sum up its answer. best_of_history: the best earlier
  // answers, whole, in the order they were made.
  std::string rule = "append";
  int64_t summary_tokens = 64;
  int64_t shown_turns = 4;
  void visit(OptionVisitor& v);

  bool appends() const { return rule == "append"; }
  bool summarises() const { return rule == "summaries"; }
  bool shows_best() const { return rule == "best_of_history"; }
};

// An answer judged before, or what is shown of it.
struct PastTurn {
  std::vector<int32_t> ids;  // the stop token included if it stopped
  bool stopped = false;
  Verdict verdict;
};

// How good an answer is beside others to the same task, the better the higher. A right one stands above every
// wrong one, whatever they earn, and INFRA, which says nothing of the answer, below both.
struct Standing {
  int rank = -1;  // below all that was judged
  double value = 0;
  auto operator<=>(const Standing&) const = default;
};
// `value`: orders right answers among themselves, and wrong ones.
Standing standing(const Verdict& verdict, double value);

// As the policy is told of it: of right answers the faster is the better, wrong ones are alike.
Standing standing(const Verdict& verdict);

// The `count` highest, the earlier of equals, in ascending order.
std::vector<size_t> best_indices(const std::vector<Standing>& standings, int64_t count);

// What is shown of a turn: under append and best_of_history its answer; else its code block, empty without
// one, and its summary behind an empty line.
PastTurn shown_part(const ContextOptions& options, const Trajectory& trajectory, const Turn& turn,
                    const ChatFormat& format, const Tokenizer& tokenizer);

// The turns shown to the one behind the first `turns`: the best of them under best_of_history, where any
// right answer is better than a wrong one and a faster one better than a slower; else all.
std::vector<size_t> shown_turns(const ContextOptions& options, const Trajectory& trajectory, size_t turns);

// What asks for a summary.
std::string summary_request(const ContextOptions& options);

}  // namespace temper
