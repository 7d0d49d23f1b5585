#pragma once
// Makes the prompt of each turn. Tokens are only appended to a row; what it contains is never rewritten.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "env/task/task.h"
#include "env/verdict/verdict.h"
#include "policy/chat/chat_format.h"
#include "rollout/context.h"
#include "rollout/trajectory.h"

namespace temper::rollout {

// How much of a verdict's details (env/verdict/details.h) a turn's feedback carries.
struct FeedbackLimit {
  size_t bytes =
      0;  // bytes of text; up to kMaxMessageBytes it is the verdict's short message, without details
  int64_t answers = 1;  // answers to come, which share the row's remaining room with the details
};

// Grows one trajectory turn by turn. In all functions `max_ids` is the length of a row up to which an answer still
// fits after it and, under the rule `summaries`, the request for a summary and the summary as well.
class Conversation {
 public:
  static constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();

  // `format` and `tokenizer` must outlive it.
  Conversation(const policy::ChatFormat& format, const policy::Tokenizer& tokenizer, const env::Task& task,
               int64_t step, int64_t sample, ContextOptions context = {});

  // Prepends answers that were already judged to the first one's prompt. If they do not all fit, the worst are left
  // out, and the earliest of equals. `limit` applies to the last one's feedback: the errors of the others are either
  // fixed by then or reported again.
  void show(std::vector<PastTurn> past, size_t max_ids, const FeedbackLimit& limit);

  // Takes the ids of an answer (stop token included if it stopped) with their log-probs, splits it into plan
  // and code, and returns the code to judge. An answer without a code block already has its verdict,
  // FAIL_PARSE, and gives "". A token that lies on both sides of a fence is code. If the prompt ends with an open
  // <think>, the answer begins inside its reasoning.
  std::string add_answer(const std::vector<int32_t>& ids, const std::vector<float>& log_probs, bool stopped);
  // The verdict of the last answer.
  void add_verdict(const env::Verdict& verdict);

  // Appends a request to the policy to summarise its last answer, before it is told the verdict.
  void request_summary();
  void add_summary(const std::vector<int32_t>& ids, const std::vector<float>& log_probs);
  // Ids that request and summary take at most.
  size_t summary_room() const;

  // Opens the next turn: the verdict as feedback, with as many of its details as `limit` and max_ids leave
  // room for, in a new row where the context's rule is not to append. False, and nothing is changed, if the
  // row would be longer than max_ids even with the short message; the best of history has fewer turns then.
  bool open_turn(size_t max_ids = kNoLimit, const FeedbackLimit& limit = {});

  // The row that the policy continues.
  const std::vector<int32_t>& row() const { return trajectory_.segments.back().ids; }
  const ContextOptions& context() const { return context_; }
  const Trajectory& trajectory() const { return trajectory_; }
  Trajectory take() { return std::move(trajectory_); }

 private:
  Segment& open_row() { return trajectory_.segments.back(); }
  Segment begin_row(int32_t parent, const Segment& from, size_t prefix) const;
  std::vector<int32_t> feedback_ids(const std::string& text, bool stopped) const;
  // Verdicts of the answers so far, the last of which is that of the turn `last`.
  using History = std::vector<const env::Verdict*>;
  History history_to(size_t last) const;
  bool add_feedback(Segment& row, const History& history, bool stopped, size_t max_ids,
                    const FeedbackLimit& limit) const;
  struct Shown {
    PastTurn turn;
    History history;
  };
  bool add_past(Segment& row, std::span<const Shown> past, size_t max_ids, const FeedbackLimit& limit) const;
  std::vector<int32_t> summary_request_ids() const;

  const policy::ChatFormat* format_;
  const policy::Tokenizer* tokenizer_;
  std::string language_;      // of the task
  std::string judged_block_;  // of the last answer: env::block_words
  ContextOptions context_;
  VerdictPrompt verdict_prompt_;
  std::vector<env::Verdict> past_;     // of the answers that were prepended
  std::vector<int32_t> later_prompt_;  // of rows after the first; empty if it is the first one's
  size_t prompt_size_ = 0;             // of the first row
  Trajectory trajectory_;
};

// The start of a conversation about the task: the messages of the prompt's options, and the opening of the answer.
// Errors: ConfigError naming rollout.prompt.system if the model's conversations have no such message.
std::vector<int32_t> opening_ids(const policy::ChatFormat& format, const PromptOptions& options,
                                 const env::Task& task);

}  // namespace temper::rollout
