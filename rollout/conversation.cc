#include "rollout/conversation.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "env/verdict/answer.h"
#include "env/verdict/message.h"

namespace temper::rollout {

using env::Verdict;

namespace {

// A token without text (the stop token) is code only strictly inside the block.
Role role_of(size_t begin, size_t end, const env::Answer& answer) {
  return answer.ok && begin < answer.code_end && end > answer.code_begin ? Role::kCode : Role::kPlan;
}

std::vector<int32_t> opening(const policy::ChatFormat& format, const PromptOptions& options,
                             const env::Task& task, const std::string& question) {
  const std::optional<std::string> system = system_prompt(options, task);
  if (!system) return format.first_turn(question);
  try {
    return format.first_turn(question, *system);
  } catch (const ConfigError& e) {
    throw ConfigError("rollout.prompt.system: {}", e.what());
  }
}

}  // namespace

std::vector<int32_t> opening_ids(const policy::ChatFormat& format, const PromptOptions& options,
                                 const env::Task& task) {
  return opening(format, options, task, task_prompt(options, task));
}

Conversation::Conversation(const policy::ChatFormat& format, const policy::Tokenizer& tokenizer,
                           const env::Task& task, int64_t step, int64_t sample, ContextOptions context)
    : format_(&format),
      tokenizer_(&tokenizer),
      language_(task.language),
      context_(std::move(context)),
      verdict_prompt_(context_.prompt, task) {
  trajectory_.task = task.name;
  trajectory_.step = step;
  trajectory_.sample = sample;
  const std::string prompt = task_prompt(context_.prompt, task),
                    later = later_task_prompt(context_.prompt, task);
  trajectory_.segments.emplace_back().append(opening(format, context_.prompt, task, prompt), Role::kPrompt);
  if (later != prompt) later_prompt_ = opening(format, context_.prompt, task, later);
  prompt_size_ = open_row().ids.size();
}

// Where later rows ask in other words, they share nothing with the first.
Segment Conversation::begin_row(int32_t parent, const Segment& from, size_t prefix) const {
  if (parent != 0 || later_prompt_.empty() || prefix > prompt_size_)
    return begin_segment(parent, from, prefix);
  std::vector<int32_t> ids = later_prompt_;
  ids.resize(ids.size() - (prompt_size_ - prefix));  // without the opening of the reasoning
  Segment row;
  row.append(ids, Role::kPrompt);
  return row;
}

void Conversation::show(std::vector<PastTurn> past, size_t max_ids, const FeedbackLimit& limit) {
  TEMPER_CHECK(trajectory_.turns.empty());
  const auto worth = [](const PastTurn& turn) { return standing(turn.verdict); };
  for (; !past.empty(); past.erase(std::ranges::min_element(past, {}, worth))) {
    Segment row = open_row();
    std::vector<Shown> shown;
    History history;
    for (const PastTurn& turn : past) {
      history.push_back(&turn.verdict);
      shown.push_back({turn, history});
    }
    if (!add_past(row, shown, max_ids, limit)) continue;
    open_row() = std::move(row);
    for (PastTurn& turn : past) past_.push_back(std::move(turn.verdict));
    return;
  }
}

std::string Conversation::add_answer(const std::vector<int32_t>& ids, const std::vector<float>& log_probs,
                                     bool stopped) {
  TEMPER_CHECK_EQ(ids.size(), log_probs.size());
  const env::Answer answer =
      env::extract_code(tokenizer_->decode(ids), language_, format_->opens_reasoning());
  Segment& row = open_row();
  Turn turn;
  turn.segment = int32_t(trajectory_.segments.size()) - 1;
  turn.begin = int32_t(row.ids.size());
  turn.end = turn.begin + int32_t(ids.size());
  turn.stopped = stopped;
  if (!answer.ok) turn.verdict = env::verdict_of(env::VerdictKind::kFailParse, answer.reason);
  row.append(ids, Role::kPlan);
  std::copy(log_probs.begin(), log_probs.end(), row.log_probs.begin() + turn.begin);
  size_t at = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t next = at + tokenizer_->decode({ids[i]}).size();
    row.roles[size_t(turn.begin) + i] = role_of(at, next, answer);
    at = next;
  }
  trajectory_.turns.push_back(turn);
  judged_block_ = env::block_words(answer);
  return answer.ok ? answer.code : "";
}

void Conversation::add_verdict(const Verdict& verdict) {
  TEMPER_CHECK(!trajectory_.turns.empty());
  trajectory_.turns.back().verdict = env::about_block(verdict, judged_block_);
}

// Without reasoning: a summary is short.
std::vector<int32_t> Conversation::summary_request_ids() const {
  return format_->user_turn(summary_request(context_), false);
}

size_t Conversation::summary_room() const {
  if (!context_.summarises()) return 0;
  return 1 + summary_request_ids().size() + size_t(context_.summary_tokens);  // 1: an answer that was cut
}

void Conversation::request_summary() {
  TEMPER_CHECK(!trajectory_.turns.empty());
  Segment& row = open_row();
  if (!trajectory_.turns.back().stopped) row.append({format_->stop_id()}, Role::kRequest);
  row.append(summary_request_ids(), Role::kRequest);
}

void Conversation::add_summary(const std::vector<int32_t>& ids, const std::vector<float>& log_probs) {
  TEMPER_CHECK_EQ(ids.size(), log_probs.size());
  Segment& row = open_row();
  Span& summary = trajectory_.turns.back().summary;
  summary.begin = int32_t(row.ids.size());
  row.append(ids, Role::kSummary);
  summary.end = int32_t(row.ids.size());
  std::copy(log_probs.begin(), log_probs.end(), row.log_probs.begin() + summary.begin);
}

// The ids that close an answer, followed by the user's turn with the feedback.
std::vector<int32_t> Conversation::feedback_ids(const std::string& text, bool stopped) const {
  std::vector<int32_t> ids;
  if (!stopped) ids.push_back(format_->stop_id());
  const std::vector<int32_t> turn = format_->user_turn(text);
  ids.insert(ids.end(), turn.begin(), turn.end());
  return ids;
}

Conversation::History Conversation::history_to(size_t last) const {
  History history;
  for (const Verdict& verdict : past_) history.push_back(&verdict);
  for (size_t i = 0; i <= last; ++i) history.push_back(&trajectory_.turns[i].verdict);
  return history;
}

// Details that are too many ids get shorter in proportion, until the message alone is left.
bool Conversation::add_feedback(Segment& row, const History& history, bool stopped, size_t max_ids,
                                const FeedbackLimit& limit) const {
  const size_t room = max_ids > row.ids.size() ? max_ids - row.ids.size() : 0;
  const size_t share = room / size_t(std::max<int64_t>(1, limit.answers));
  size_t bytes = limit.bytes, said = 0;
  std::vector<int32_t> ids;
  const auto say = [&] {
    said = feedback_text(*history.back(), bytes).size();
    ids = feedback_ids(verdict_prompt_.text(history, bytes), stopped);
  };
  say();
  while (ids.size() > share && said > env::kMaxMessageBytes) {
    bytes = std::min(said * share / ids.size(), said * 15 / 16);
    say();
  }
  if (ids.size() > share) ids = feedback_ids(verdict_prompt_.text(history), stopped);
  if (ids.size() > room) return false;
  row.append(ids, Role::kFeedback);
  return true;
}

// The last one's feedback alone has details.
bool Conversation::add_past(Segment& row, std::span<const Shown> past, size_t max_ids,
                            const FeedbackLimit& limit) const {
  for (size_t i = 0; i < past.size(); ++i) {
    const auto& [turn, history] = past[i];
    row.append(turn.ids, Role::kHistory);
    if (!add_feedback(row, history, turn.stopped, max_ids, i + 1 == past.size() ? limit : FeedbackLimit{}))
      return false;
  }
  return true;
}

bool Conversation::open_turn(size_t max_ids, const FeedbackLimit& limit) {
  TEMPER_CHECK(!trajectory_.turns.empty());
  const Turn& last = trajectory_.turns.back();
  const size_t number = trajectory_.turns.size() - 1;
  if (context_.appends()) return add_feedback(open_row(), history_to(number), last.stopped, max_ids, limit);
  if (!context_.shows_best()) {
    // The row so far without the answer; earlier turns have lost their reasoning already.
    Segment row =
        begin_row(last.segment, open_row(), size_t(last.begin) - format_->opening_reasoning().size());
    const Shown shown{shown_part(context_, trajectory_, last, *format_, *tokenizer_), history_to(number)};
    if (!add_past(row, {&shown, 1}, max_ids, limit)) return false;
    trajectory_.segments.push_back(std::move(row));
    return true;
  }
  for (ContextOptions best = context_; best.shown_turns > 0; --best.shown_turns) {
    std::vector<Shown> shown;
    for (const size_t i : shown_turns(best, trajectory_, trajectory_.turns.size()))
      shown.push_back(
          {shown_part(best, trajectory_, trajectory_.turns[i], *format_, *tokenizer_), history_to(i)});
    Segment row = begin_row(0, trajectory_.segments[0], size_t(trajectory_.turns.front().begin));
    if (!add_past(row, shown, max_ids, limit)) continue;
    trajectory_.segments.push_back(std::move(row));
    return true;
  }
  return false;
}

}  // namespace temper::rollout
