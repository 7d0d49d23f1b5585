#pragma once
// The chat formats that are known, as data.

#include <string>
#include <string_view>
#include <vector>

#include "policy/text/tokenizer.h"

namespace temper::policy {

enum class Reasoning {
  kText,     // <think> has no meaning
  kWritten,  // the answer may begin with <think> … </think>
  kOpened,   // the opening of the answer has written <think> already
  kNone,     // the opening has written an empty <think> </think>
};

// In patterns {} stands for the content, and what `tokens` lists is a token; all else is text.
struct ChatLayout {
  std::string_view name;
  std::vector<std::string_view> tokens;
  std::vector<std::string_view> stops;  // the first must be there
  std::string_view start = {};          // begins a conversation
  std::string_view further_start = {};  // begins each user turn except the first
  std::string_view system = {};         // empty: part of the first user message, as `merged_system` puts it
  std::string_view default_system = {};
  bool system_always = false;  // written even where there is no system message
  std::string_view merged_system = {};
  std::string_view user, opening = {}, answer = "{}", after_answer = {};
  Reasoning reasoning = Reasoning::kText;
  bool trims = false;      // white space around contents
  bool joins_text = true;  // text around the content is encoded together with it
};

// Errors: ConfigError if the name is not known.
const ChatLayout& layout_named(std::string_view name);
// By the chat template among the tokenizer's files, or by its special tokens. Errors: ConfigError if neither
// is known.
const ChatLayout& recognised_layout(const Tokenizer& tokenizer);
std::vector<std::string> layout_names();  // auto, and all

}  // namespace temper::policy
