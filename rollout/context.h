#pragma once
// What a turn sees of the turns before it.
//
// Source: Kevin, 2507.11948: old reasoning is dropped, each kernel, the model's own summary and the
//         feedback are kept; Dr. Kernel, 2602.05885: the best w turns are shown.

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/options.h"
#include "policy/chat/chat_format.h"
#include "rollout/prompt/prompt.h"
#include "rollout/trajectory.h"

namespace temper::rollout {

struct ContextOptions {
  // append: a turn sees everything, in one row. Under the other rules each turn is a row of its own, which begins with
  // the task. drop_reasoning: it sees the code block of each earlier answer and its feedback. summaries: in addition
  // it sees the summary that the policy wrote of each answer. best_of_history: it sees the best earlier answers,
  // whole, in the order in which they were made.
  std::string rule = "append";
  int64_t summary_tokens = 64;
  int64_t shown_turns = 4;
  PromptOptions prompt = {};  // the section rollout.prompt
  void visit(OptionVisitor& v);

  bool appends() const { return rule == "append"; }
  bool summarises() const { return rule == "summaries"; }
  bool shows_best() const { return rule == "best_of_history"; }
};

// An answer judged before, or what is shown of it.
struct PastTurn {
  std::vector<int32_t> ids;  // the stop token included if it stopped
  bool stopped = false;
  env::Verdict verdict;
};

// The rank of an answer among others to the same task; higher is better. A right answer ranks above every wrong one,
// independent of their rewards. INFRA, which says nothing about the answer, ranks below both.
struct Standing {
  int rank = -1;  // below all that was judged
  double value = 0;
  auto operator<=>(const Standing&) const = default;
};
// `value`: orders right answers among themselves, and wrong ones.
Standing standing(const env::Verdict& verdict, double value);

// The standing by the verdict that the policy is told: faster right answers are better, wrong ones are equal.
Standing standing(const env::Verdict& verdict);

// The `count` highest, the earlier of equals, in ascending order.
std::vector<size_t> best_indices(const std::vector<Standing>& standings, int64_t count);

// The part of a turn that later turns see. Under append and best_of_history it is the answer; otherwise the code
// block, which may be empty, followed by an empty line and the summary.
PastTurn shown_part(const ContextOptions& options, const Trajectory& trajectory, const Turn& turn,
                    const policy::ChatFormat& format, const policy::Tokenizer& tokenizer);

// Which of the first `turns` turns the next one sees: the best of them under best_of_history, by standing(); otherwise
// all.
std::vector<size_t> shown_turns(const ContextOptions& options, const Trajectory& trajectory, size_t turns);

// The text that asks for a summary.
std::string summary_request(const ContextOptions& options);

}  // namespace temper::rollout
