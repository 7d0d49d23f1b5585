#include "rollout/conversation.h"

#include "base/error.h"
#include "env/answer.h"
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
  const Answer answer = extract_code(tokenizer_->decode(ids));
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

size_t Conversation::open_turn(size_t max_ids) {
  TEMPER_CHECK(!trajectory_.turns.empty());
  const Turn& last = trajectory_.turns.back();
  std::vector<int32_t> ids;
  if (!last.stopped) ids.push_back(format_->stop_id());
  for (const auto& part : {format_->after_answer(), format_->user_turn(feedback_text(last.verdict))}) {
    ids.insert(ids.end(), part.begin(), part.end());
  }
  if (trajectory_.ids.size() + ids.size() > max_ids) return 0;
  append(ids, Role::kFeedback);
  return ids.size();
}

std::string feedback_text(const Verdict& verdict) {
  const Verdict heard = told(verdict);
  return heard.message.empty() ? verdict_message(heard) : heard.message;
}

}  // namespace temper
