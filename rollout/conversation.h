#pragma once
// What the next turn's prompt is. Context is only ever appended to.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "env/task.h"
#include "env/verdict.h"
#include "policy/chat_format.h"
#include "rollout/trajectory.h"

namespace temper {

// How much of a verdict's details (env/details.h) a turn's feedback carries.
struct FeedbackLimit {
  size_t bytes = 0;  // of the text; up to kMaxMessageBytes: the verdict's short message and no details
  size_t row_ids = std::numeric_limits<size_t>::max();  // what would make the row longer is cut, too
};

// Grows one trajectory turn by turn.
class Conversation {
 public:
  Conversation(const ChatFormat& format, const Tokenizer& tokenizer, const Task& task, int64_t step,
               int64_t sample);

  // Takes the ids of an answer (stop token included if it stopped) with their log-probs, splits it into plan
  // and code, and returns the code to judge. An answer without a code block already has its verdict,
  // FAIL_PARSE, and gives "". A token that lies on both sides of a fence is code. Where the prompt ends with
  // an open <think>, the answer begins inside its reasoning.
  std::string add_answer(const std::vector<int32_t>& ids, const std::vector<float>& log_probs, bool stopped);
  // The verdict of the last answer.
  void add_verdict(const Verdict& verdict);
  // Opens the next turn: the verdict as feedback, with as many of its details as `limit` and max_ids leave
  // room for. Returns how many ids were appended; 0, and appends nothing, if the row would be longer than
  // max_ids even with the short message.
  size_t open_turn(size_t max_ids = std::numeric_limits<size_t>::max(), const FeedbackLimit& limit = {});

  const Trajectory& trajectory() const { return trajectory_; }
  Trajectory take() { return std::move(trajectory_); }

 private:
  void append(const std::vector<int32_t>& ids, Role role);
  std::vector<int32_t> feedback_ids(const std::string& text) const;

  const ChatFormat* format_;
  const Tokenizer* tokenizer_;
  Trajectory trajectory_;
};

// The verdict as the user's next message: its details, cut in the middle to max_bytes, where it has some and
// max_bytes is more than a message may take; else its message.
std::string feedback_text(const Verdict& verdict, size_t max_bytes = 0);

}  // namespace temper
