#include "policy/chat/comparison.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/printable.h"

namespace temper::policy {
namespace {

using Messages = std::vector<ChatMessage>;

// How much of what the layout writes last a template may lack.
size_t unsaid_size(const ChatLayout& layout) {
  return layout.closing.size() + (layout.end_use == EndUse::kBetween ? layout.answer_end.size() : 0);
}

// False also where the layout does not write these messages, which may be what a template made of others.
bool same(const ChatLayout& layout, std::span<const ChatMessage> messages, std::string_view theirs) {
  if (!refusal(layout, messages).empty()) return false;
  const std::string ours = write_chat(layout, messages).text;
  if (theirs == ours) return true;
  const bool answered = messages.back().role == "assistant";
  return answered && theirs == std::string_view(ours).substr(0, ours.size() - unsaid_size(layout));
}

// What a template leaves of an answer whose reasoning it leaves out.
Messages without_reasoning(const ChatLayout& layout, std::span<const ChatMessage> messages, bool last_too) {
  Messages changed(messages.begin(), messages.end());
  for (size_t i = 0; i < changed.size(); ++i) {
    if (changed[i].role != "assistant" || (i + 1 == changed.size() && !last_too)) continue;
    if (const auto reasoned = split_reasoning(changed[i].content))
      changed[i].content = std::string(trimmed(reasoned->rest, layout.dropped_trim));
  }
  return changed;
}

// Templates of Mistral's put the system's text in front of the last message of the user.
Messages with_system_moved(const ChatLayout& layout, std::span<const ChatMessage> messages) {
  Messages changed(messages.begin() + 1, messages.end());
  const auto last = std::ranges::find(changed.rbegin(), changed.rend(), "user", &ChatMessage::role);
  last->content = fmt::format("{}{}{}", trimmed(messages[0].content, layout.system_trim),
                              layout.first_with_system.before, trimmed(last->content, layout.further.trim));
  return changed;
}

// The last turn as the layout writes it ends the rendered text.
bool ends_alike(const ChatLayout& layout, std::span<const ChatMessage> messages, std::string_view theirs) {
  const auto turns = write_turns(layout, messages);
  if (turns.size() < 2) return false;
  const std::string last =
      turns.back().prompt.text + turns.back().answer.text + (turns.back().answered ? layout.closing : "");
  const size_t unsaid = turns.back().answered ? unsaid_size(layout) : 0;
  return theirs.ends_with(last) || theirs.ends_with(std::string_view(last).substr(0, last.size() - unsaid));
}

// One whose answers have no end.
ChatLayout without_end(ChatLayout layout) {
  layout.answer_end.clear();
  layout.end_use = EndUse::kWritten;
  return layout;
}

}  // namespace

ChatComparison compare_chat(const ChatLayout& layout, const ChatQuestion& question, std::string_view theirs) {
  if (layout.end_use == EndUse::kNever) return compare_chat(without_end(layout), question, theirs);
  const Messages& messages = question.messages;
  if (same(layout, messages, theirs)) return {.equal = true};
  for (const bool last_too : {false, true}) {
    const Messages changed = without_reasoning(layout, messages, last_too);
    if (changed != messages && same(layout, changed, theirs))
      return {.rewrite = last_too || layout.reasoning == ReasoningUse::kDropped
                             ? rewrites::kAllReasoning
                             : rewrites::kEarlierReasoning};
  }
  if (messages[0].role == "system" && messages.size() > 3) {
    const Messages moved = with_system_moved(layout, messages);
    for (const bool last_too : {false, true})
      if (same(layout, moved, theirs) || same(layout, without_reasoning(layout, moved, last_too), theirs))
        return {.rewrite = rewrites::kSystem};
  }
  if (messages[0].role == "system" && messages.size() > 2) {
    const std::span told = std::span(messages).subspan(1);
    for (const bool last_too : {false, true})
      if (same(layout, told, theirs) || same(layout, without_reasoning(layout, told, last_too), theirs))
        return {.rewrite = rewrites::kNoSystem};
  }
  if (ends_alike(layout, messages, theirs)) return {.rewrite = rewrites::kOther};
  return {};
}

std::string expected_text(const ChatLayout& layout, std::span<const ChatMessage> messages) {
  if (layout.end_use == EndUse::kNever) return write_chat(without_end(layout), messages).text;
  std::string text = write_chat(layout, messages).text;
  if (layout.end_use == EndUse::kBetween && messages.back().role == "assistant")
    text.resize(text.size() - unsaid_size(layout));
  return text;
}

std::string show_difference(std::string_view ours, std::string_view theirs) {
  constexpr size_t kBefore = 40, kShown = 160;
  size_t at = size_t(std::ranges::mismatch(ours, theirs).in1 - ours.begin());
  at -= std::min(at, kBefore);
  while (at > 0 && (uint8_t(ours[at]) & 0xC0) == 0x80) --at;
  const auto part = [&](std::string_view text) {
    return nlohmann::json(text.substr(std::min(at, text.size()), kShown))
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  return fmt::format("the template writes {}{}, the layout {}{}", at > 0 ? "…" : "", part(theirs),
                     at > 0 ? "…" : "", part(ours));
}

std::string show_conversation(std::span<const ChatMessage> messages) {
  constexpr size_t kShown = 60;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ChatMessage& message : messages)
    list.push_back({{"role", message.role}, {"content", printable(message.content, kShown)}});
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace temper::policy
