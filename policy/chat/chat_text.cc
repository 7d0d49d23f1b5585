#include "policy/chat/chat_text.h"

#include <algorithm>

#include "base/error.h"
#include "base/input/utf8.h"

namespace temper::policy {
namespace {

// The size of the character at the front.
size_t first_size(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && (uint8_t(text[size]) & 0xC0) == 0x80) ++size;
  return size;
}

size_t last_size(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && (uint8_t(text[text.size() - size]) & 0xC0) == 0x80) ++size;
  return size;
}

bool is_boundary(std::string_view text, size_t at) {
  return at == text.size() || (uint8_t(text[at]) & 0xC0) != 0x80;
}

// Whether the whole character `one` is among these; bytes that are no character never are.
bool holds(std::string_view characters, std::string_view one) {
  const size_t at = characters.find(one);
  return at != std::string_view::npos && is_boundary(characters, at) &&
         is_boundary(characters, at + one.size());
}

bool is_blank(std::string_view text) {
  static const Trim all{std::string(kWhiteSpace), std::string(kWhiteSpace)};
  return trimmed(text, all).empty();
}

bool opens_reasoning(const std::string& prompt) {
  const size_t at = prompt.rfind(kThink);
  return at != std::string::npos && prompt.find(kEndThink, at) == std::string::npos;
}

// What a model wrote: the marks of reasoning in it are the family's tokens, wherever they stand.
void add_written(MarkedText& text, std::string_view answer) {
  for (;;) {
    const size_t at = std::min(answer.find(kThink), answer.find(kEndThink));
    text.add_content(answer.substr(0, at));
    if (at == std::string_view::npos) return;
    answer.remove_prefix(at);
    const std::string_view mark = answer.starts_with(kThink) ? kThink : kEndThink;
    text.add(mark);
    answer.remove_prefix(mark.size());
  }
}

// What leads to the answer: `after`, where that is how the template writes it before this answer, too. The rest of
// `written` begins the answer. Where it is not, the answer begins with the mark that opens its reasoning.
WrittenTurn begin_answer(MarkedText before, const std::string& after, const std::string& written) {
  WrittenTurn turn{.prompt = std::move(before), .answer = {}, .answered = true};
  const size_t size = written.starts_with(after) ? after.size()
                      : opens_reasoning(written) ? written.rfind(kThink)
                                                 : written.size();
  turn.prompt.add(std::string_view(written).substr(0, size));
  turn.answer.add(std::string_view(written).substr(size));
  return turn;
}

WrittenTurn write_answer(const ChatLayout& layout, const UserTurn& user, MarkedText before,
                         std::string_view answer, bool last) {
  const auto reasoned = split_reasoning(answer);
  WrittenTurn turn;
  // Where the template leaves reasoning out, nothing says how it would write what is not one pair in front.
  const bool verbatim =
      reasoned && reasoned->opened && reasoned->odd && layout.reasoning == ReasoningUse::kDropped;
  const bool known = reasoned && !verbatim && (reasoned->opened || !layout.reasoning_needs_opening);
  if (known && layout.reasoning != ReasoningUse::kText) {
    turn = begin_answer(std::move(before), user.after, user.reasoned);
    add_written(turn.answer, trimmed(reasoned->reasoning, layout.reasoning_trim));
    turn.answer.add(layout.behind_reasoning);
    add_written(turn.answer, trimmed(reasoned->rest, layout.reasoned_answer_trim));
  } else if (reasoned && !reasoned->opened && opens_reasoning(user.after)) {
    turn = begin_answer(std::move(before), user.after, user.after);
    add_written(turn.answer, answer);
  } else {
    turn = begin_answer(std::move(before), user.after, last ? user.told : user.told_earlier);
    add_written(turn.answer, trimmed(answer, last ? layout.answer_trim : layout.earlier_answer_trim));
  }
  turn.answer.add(layout.answer_end);
  return turn;
}

std::string refused_content(const ChatLayout& layout, const ChatMessage& message) {
  const auto refused = [&](std::string_view kind) { return layout.limits.contains(std::string(kind)); };
  std::string_view kind;
  if (message.role == "system") {
    if (refused(chat_limits::kSystem)) kind = chat_limits::kSystem;
    if (is_blank(message.content) && refused(chat_limits::kEmptySystem)) kind = chat_limits::kEmptySystem;
  } else if (is_blank(message.content)) {
    const auto empty = message.role == "user" ? chat_limits::kEmptyUser : chat_limits::kEmptyAnswer;
    if (refused(empty)) kind = empty;
  } else if (message.role == "assistant") {
    const auto reasoned = split_reasoning(message.content);
    const bool marks = message.content.find(kThink) != std::string::npos;
    if (reasoned && refused(chat_limits::kReasoning)) kind = chat_limits::kReasoning;
    const bool alone = reasoned && !reasoned->opened && !opens_reasoning(layout.first.after);
    if (((reasoned && (reasoned->odd || alone)) || (!reasoned && marks)) &&
        refused(chat_limits::kOddReasoning))
      kind = chat_limits::kOddReasoning;
  }
  if (kind.empty()) return "";
  const bool vowel = kind.starts_with('a') || kind.starts_with('e');
  return fmt::format("the model's chat template has no plain place for {} {}{}{}", vowel ? "an" : "a", kind,
                     layout.why.empty() ? "" : ": ", layout.why);
}

}  // namespace

void MarkedText::add_content(std::string_view content) {
  if (content.empty()) return;
  contents.push_back({text.size(), text.size() + content.size()});
  text += content;
}

void MarkedText::add(const MarkedText& more) {
  for (const TextRange& range : more.contents)
    contents.push_back({text.size() + range.begin, text.size() + range.end});
  text += more.text;
}

std::string_view trimmed(std::string_view text, const Trim& trim) {
  while (!text.empty() && holds(trim.left, text.substr(0, first_size(text))))
    text.remove_prefix(first_size(text));
  while (!text.empty() && holds(trim.right, text.substr(text.size() - last_size(text))))
    text.remove_suffix(last_size(text));
  return text;
}

std::optional<ReasonedAnswer> split_reasoning(std::string_view answer) {
  const size_t end = answer.find(kEndThink);
  if (end == std::string_view::npos) return std::nullopt;
  const size_t last_end = answer.rfind(kEndThink);
  ReasonedAnswer found{.reasoning = answer.substr(0, end),
                       .rest = answer.substr(last_end + kEndThink.size())};
  const size_t begin = found.reasoning.rfind(kThink);
  found.opened = begin != std::string_view::npos;
  found.odd = end != last_end || found.rest.find(kThink) != std::string_view::npos;
  if (found.opened) {
    found.odd =
        found.odd || !is_blank(found.reasoning.substr(0, begin)) || found.reasoning.find(kThink) != begin;
    found.reasoning.remove_prefix(begin + kThink.size());
  }
  return found;
}

std::string refusal(const ChatLayout& layout, std::span<const ChatMessage> messages) {
  size_t turn = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    const bool system = i == 0 && role == "system";
    if (!system && role != (turn % 2 == 0 ? "user" : "assistant"))
      return "a conversation is a system message at most, then user and assistant in turn";
    turn += !system;
    if (std::string why = refused_content(layout, messages[i]); !why.empty()) return why;
  }
  return turn == 0 ? "a conversation has a message of the user" : "";
}

std::vector<WrittenTurn> write_turns(const ChatLayout& layout, std::span<const ChatMessage> messages) {
  TEMPER_CHECK(refusal(layout, messages).empty());
  std::vector<WrittenTurn> turns;
  const UserTurn* user = &layout.first;
  MarkedText before;
  if (messages[0].role == "system") {
    const std::string_view system = trimmed(messages[0].content, layout.system_trim);
    messages = messages.subspan(1);
    if (!layout.empty_system_is_none || !system.empty()) {
      user = &layout.first_with_system;
      before.add(layout.before_system);
      before.add_content(system);
    }
  }
  for (size_t i = 0; i < messages.size(); i += 2, user = &layout.further, before = {}) {
    before.add(user->before);
    before.add_content(trimmed(messages[i].content, user->trim));
    if (i + 1 < messages.size()) {
      const bool last = i + 2 == messages.size();
      turns.push_back(write_answer(layout, *user, std::move(before), messages[i + 1].content, last));
    } else {
      before.add(user->after);
      turns.push_back({.prompt = std::move(before), .answer = {}});
    }
  }
  return turns;
}

MarkedText write_chat(const ChatLayout& layout, std::span<const ChatMessage> messages) {
  MarkedText text;
  bool answered = false;
  for (const WrittenTurn& turn : write_turns(layout, messages)) {
    text.add(turn.prompt);
    text.add(turn.answer);
    answered = turn.answered;
  }
  if (answered) text.add(layout.closing);
  return text;
}

}  // namespace temper::policy
