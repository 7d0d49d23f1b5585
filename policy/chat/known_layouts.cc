#include "policy/chat/known_layouts.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "policy/text/tokenizer_files.h"

namespace temper::policy {
namespace {

constexpr const char *kImEnd = "<|im_end|>", *kAssistant = "<|im_end|>\n<|im_start|>assistant\n",
                     *kNoThought = "<think>\n\n</think>\n\n";

// The same in front of each answer, given or not.
UserTurn user_turn(std::string before, const std::string& after, const Trim& trim = {}) {
  return {.before = std::move(before),
          .trim = trim,
          .after = after,
          .told = after,
          .told_earlier = after,
          .reasoned = ""};
}

ChatLayout chatml(std::string name, std::string_view default_system = {}) {
  const std::string system =
      default_system.empty() ? "" : fmt::format("<|im_start|>system\n{}<|im_end|>\n", default_system);
  return {.name = std::move(name),
          .before_system = "<|im_start|>system\n",
          .first = user_turn(system + "<|im_start|>user\n", kAssistant),
          .first_with_system = user_turn("<|im_end|>\n<|im_start|>user\n", kAssistant),
          .further = user_turn("\n<|im_start|>user\n", kAssistant),
          .answer_end = kImEnd,
          .stop = kImEnd,
          .more_stops = {"<|endoftext|>"},
          .closing = "\n",
          .tokens = {"<|im_start|>", kImEnd}};
}

// Temper's own models know nothing but <|im_end|>, and their tokens of a turn never depended on its content.
ChatLayout temper() {
  ChatLayout layout = chatml("temper");
  layout.more_stops.clear();
  layout.joins_text = false;
  return layout;
}

// `opening`: behind the assistant's name in the prompt; `told`: in front of a last answer without reasoning.
ChatLayout thinking(std::string name, const std::string& opening, const std::string& told, ReasoningUse use) {
  ChatLayout layout = chatml(std::move(name));
  for (UserTurn* turn : {&layout.first, &layout.first_with_system, &layout.further}) {
    turn->after = kAssistant + opening;
    turn->told = kAssistant + told;
    turn->reasoned = std::string(kAssistant) + "<think>\n";
  }
  layout.reasoning = use;
  layout.reasoning_trim = {"\n", "\n"};
  layout.reasoned_answer_trim = layout.dropped_trim = {"\n", ""};
  layout.rewrites = {"leaves out the reasoning of earlier answers"};
  layout.tokens.insert(layout.tokens.end(), {std::string(kThink), std::string(kEndThink)});
  return layout;
}

ChatLayout llama3(std::string name, const std::string& preamble) {
  const Trim trim{std::string(kWhiteSpace), std::string(kWhiteSpace)};
  const std::string begin = "<|begin_of_text|>",
                    system = "<|start_header_id|>system<|end_header_id|>\n\n" + preamble,
                    user = "<|start_header_id|>user<|end_header_id|>\n\n",
                    answer = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n";
  return {.name = std::move(name),
          .before_system = begin + system,
          .system_trim = trim,
          .first = user_turn(begin + (preamble.empty() ? "" : system + "<|eot_id|>") + user, answer, trim),
          .first_with_system = user_turn("<|eot_id|>" + user, answer, trim),
          .further = user_turn(user, answer, trim),
          .answer_trim = trim,
          .earlier_answer_trim = trim,
          .answer_end = "<|eot_id|>",
          .stop = "<|eot_id|>",
          .more_stops = {"<|end_of_text|>", "<|eom_id|>"},
          .tokens = {begin, "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"}};
}

// `user`: in front of a message of the user; `answer`: behind it.
ChatLayout mistral(std::string name, const std::string& user, const std::string& answer) {
  return {.name = std::move(name),
          .before_system = "<s>" + user,
          .first = user_turn("<s>" + user, answer),
          .first_with_system = user_turn("\n\n", answer),
          .further = user_turn(user, answer),
          .answer_end = "</s>",
          .stop = "</s>",
          .tokens = {"<s>", "</s>"},
          .starts_anew = true};
}

ChatLayout mistral_v3() {
  ChatLayout layout = mistral("mistral_v3", "[INST]", "[/INST]");
  layout.tokens.insert(layout.tokens.end(), {"[INST]", "[/INST]"});
  return layout;
}

ChatLayout llama2() {
  const Trim trim{std::string(kWhiteSpace), std::string(kWhiteSpace)};
  ChatLayout layout = mistral("llama2", "[INST] ", " [/INST]");
  layout.starts_anew = false;
  layout.before_system += "<<SYS>>\n";
  layout.first_with_system.before = "\n<</SYS>>\n\n";
  layout.further.before = "<s>[INST] ";
  layout.answer_end = " </s>";
  layout.answer_trim = layout.earlier_answer_trim = trim;
  for (UserTurn* turn : {&layout.first, &layout.first_with_system, &layout.further}) {
    turn->trim = trim;
    turn->told = turn->told_earlier = turn->after + " ";
  }
  return layout;
}

const std::vector<ChatLayout>& layouts() {
  static const std::vector<ChatLayout> all = {
      temper(),
      chatml("chatml"),
      chatml("qwen2", "You are a helpful assistant."),
      chatml("qwen2.5", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
      thinking("qwen3", "", kNoThought, ReasoningUse::kWritten),
      thinking("qwen3_no_thinking", kNoThought, kNoThought, ReasoningUse::kWritten),
      thinking("qwq", "<think>\n", "", ReasoningUse::kDropped),
      llama3("llama3", ""),
      llama3("llama3.1", "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"),
      llama2(),
      mistral("mistral_v1", "[INST] ", " [/INST]"),
      mistral_v3()};
  return all;
}

}  // namespace

std::vector<std::string> layout_names() {
  std::vector<std::string> names = {"auto"};
  for (const ChatLayout& layout : layouts()) names.push_back(layout.name);
  return names;
}

const ChatLayout& layout_named(std::string_view name) {
  const auto found = std::ranges::find(layouts(), name, &ChatLayout::name);
  if (found == layouts().end())
    throw ConfigError("chat format: '{}' is not known: must be one of {}", name,
                      fmt::join(layout_names(), ", "));
  return *found;
}

const ChatLayout* own_layout(const ChatTemplate& chat_template) {
  return chat_template.text == kOwnChatTemplate ? &layout_named("temper") : nullptr;
}

const ChatLayout* layout_by_tokens(const Tokenizer& tokenizer) {
  const auto has = [&](std::string_view token) { return tokenizer.find_special(token).has_value(); };
  if (has("<|im_start|>")) return &layout_named(has(kThink) ? "qwen3" : "chatml");
  if (has("<|start_header_id|>")) return &layout_named("llama3");
  return has("[INST]") ? &layout_named("mistral_v3") : nullptr;
}

}  // namespace temper::policy
