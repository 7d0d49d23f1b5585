#pragma once
// A conversation as one text, as a layout writes it.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/chat/chat_layout.h"
#include "policy/text/tokenizer.h"

namespace temper::policy {

struct ChatMessage {
  std::string role;  // system, user or assistant
  std::string content;
  bool operator==(const ChatMessage&) const = default;
};

// Text with the parts of it that people or programs wrote.
struct MarkedText {
  std::string text;
  std::vector<TextRange> contents;
  void add(std::string_view more) { text += more; }
  void add_content(std::string_view content);
  void add(const MarkedText& more);
};

// One turn: what a model continues, and where the answer is given, the answer with the token that ends it.
struct WrittenTurn {
  MarkedText prompt, answer;
  bool answered = false;
};

// White space is taken off `text` from both ends as `trim` says.
std::string_view trimmed(std::string_view text, const Trim& trim);

// Reasoning at the front of an answer, and what follows it.
struct ReasonedAnswer {
  std::string_view reasoning, rest;
  bool opened = false;  // <think> stands in front
  bool odd = false;     // there is text before <think>, or more than one pair
};
// Nothing: the answer has no </think>. Qwen3's template reads answers so: reasoning ends at the first </think> and begins
// behind the last <think> before it; the rest begins behind the last </think>.
std::optional<ReasonedAnswer> split_reasoning(std::string_view answer);

// "" or in words why the conversation cannot be written: its roles are not a system message at most, then user and
// assistant in turn; or it holds what the layout does not write.
std::string refusal(const ChatLayout& layout, std::span<const ChatMessage> messages);

// The conversation turn by turn; refusal() must be empty. A turn's prompt begins behind the token that ended the answer
// before.
std::vector<WrittenTurn> write_turns(const ChatLayout& layout, std::span<const ChatMessage> messages);

// The same as one text. With `closing` behind the last answer.
MarkedText write_chat(const ChatLayout& layout, std::span<const ChatMessage> messages);

}  // namespace temper::policy
