#include "rollout/conversation.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "env/answer.h"
#include "env/details.h"
#include "env/message.h"

namespace temper {
namespace {

Verdict parse_failure(const std::string& reason) {
  Verdict verdict;
  verdict.kind = VerdictKind::kFailParse;
  verdict.reason = reason;
  verdict.message = verdict_message(verdict);
  return verdict;
}

// A token without text (the stop token) is code only strictly inside the block.
Role role_of(size_t begin, size_t end, const Answer& answer) {
  return answer.ok && begin < answer.code_end && end > answer.code_begin ? Role::kCode : Role::kPlan;
}

}  // namespace

Conversation::Conversation(const ChatFormat& format, const Tokenizer& tokenizer, const Task& task,
                           int64_t step, int64_t sample)
    : format_(&format), tokenizer_(&tokenizer) {
  trajectory_.task = task.name;
  trajectory_.step = step;
  trajectory_.sample = sample;
  append(format.first_turn(task.prompt()), Role::kPrompt);
}

void Conversation::append(const std::vector<int32_t>& ids, Role role) {
  trajectory_.ids.insert(trajectory_.ids.end(), ids.begin(), ids.end());
  trajectory_.roles.resize(trajectory_.ids.size(), role);
  trajectory_.log_probs.resize(trajectory_.ids.size(), 0);
}

std::string Conversation::add_answer(const std::vector<int32_t>& ids, const std::vector<float>& log_probs,
                                     bool stopped) {
  TEMPER_CHECK_EQ(ids.size(), log_probs.size());
  const Answer answer = extract_code(tokenizer_->decode(ids), format_->opens_reasoning());
  Turn turn;
  turn.begin = int32_t(trajectory_.ids.size());
  turn.end = turn.begin + int32_t(ids.size());
  turn.stopped = stopped;
  if (!answer.ok) turn.verdict = parse_failure(answer.reason);
  append(ids, Role::kPlan);
  std::copy(log_probs.begin(), log_probs.end(), trajectory_.log_probs.begin() + turn.begin);
  size_t at = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t next = at + tokenizer_->decode({ids[i]}).size();
    trajectory_.roles[size_t(turn.begin) + i] = role_of(at, next, answer);
    at = next;
  }
  trajectory_.turns.push_back(turn);
  return answer.ok ? answer.code : "";
}

void Conversation::add_verdict(const Verdict& verdict) {
  TEMPER_CHECK(!trajectory_.turns.empty());
  trajectory_.turns.back().verdict = verdict;
}

// What closes the last answer, and the user's turn.
std::vector<int32_t> Conversation::feedback_ids(const std::string& text) const {
  std::vector<int32_t> ids;
  if (!trajectory_.turns.back().stopped) ids.push_back(format_->stop_id());
  for (const auto& part : {format_->after_answer(), format_->user_turn(text)})
    ids.insert(ids.end(), part.begin(), part.end());
  return ids;
}

// Details that are too many ids get shorter in proportion, until the message alone is left.
size_t Conversation::open_turn(size_t max_ids, const FeedbackLimit& limit) {
  TEMPER_CHECK(!trajectory_.turns.empty());
  const Verdict& verdict = trajectory_.turns.back().verdict;
  const size_t row = trajectory_.ids.size(), most = std::min(max_ids, limit.row_ids);
  const size_t room = most > row ? most - row : 0;
  std::string text = feedback_text(verdict, limit.bytes);
  std::vector<int32_t> ids = feedback_ids(text);
  while (ids.size() > room && text.size() > kMaxMessageBytes) {
    text = feedback_text(verdict, std::min(text.size() * room / ids.size(), text.size() * 15 / 16));
    ids = feedback_ids(text);
  }
  if (ids.size() > room) ids = feedback_ids(feedback_text(verdict));
  if (row + ids.size() > max_ids) return 0;
  append(ids, Role::kFeedback);
  return ids.size();
}

std::string feedback_text(const Verdict& verdict, size_t max_bytes) {
  const Verdict heard = told(verdict);
  if (max_bytes > kMaxMessageBytes && !heard.details.empty())
    return cut_in_the_middle(heard.details, max_bytes);
  return heard.message.empty() ? verdict_message(heard) : heard.message;
}

}  // namespace temper
