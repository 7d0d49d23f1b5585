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

// Grows one trajectory turn by turn.
class Conversation {
 public:
  Conversation(const ChatFormat& format, const Tokenizer& tokenizer, const Task& task, int64_t step,
               int64_t sample);

  // Takes the ids of an answer (stop token included if it stopped) with their log-probs, splits it into plan
  // and code, and returns the code to judge. An answer without a code block already has its verdict,
  // FAIL_PARSE, and gives "". A token that lies on both sides of a fence is code.
  std::string add_answer(const std::vector<int32_t>& ids, const std::vector<float>& log_probs, bool stopped);
  // The verdict of the last answer.
  void add_verdict(const Verdict& verdict);
  // Opens the next turn: the verdict as feedback. Returns how many ids were appended; 0, and appends nothing,
  // if the row would then be longer than max_ids.
  size_t open_turn(size_t max_ids = std::numeric_limits<size_t>::max());

  const Trajectory& trajectory() const { return trajectory_; }
  Trajectory take() { return std::move(trajectory_); }

 private:
  void append(const std::vector<int32_t>& ids, Role role);

  const ChatFormat* format_;
  const Tokenizer* tokenizer_;
  Trajectory trajectory_;
};

// The verdict as the user's next message.
std::string feedback_text(const Verdict& verdict);

}  // namespace temper
