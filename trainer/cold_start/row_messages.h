#pragma once
// Messages of a conversation as rows of data have them.

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "rollout/chat_examples.h"

namespace temper::trainer {

inline constexpr double kMostWeight = 1000;

// Fields of a message or a row with the reasoning that belongs into an answer.
inline constexpr std::array kReasoning = {"reasoning_content", "reasoning", "thinking", "think",
                                          "thoughts",          "thought"};
// Errors: ConfigError always, beginning with the name.
[[noreturn]] void throw_reasoning(std::string_view name);

// A number from 0 to kMostWeight. Errors: ConfigError beginning with the name.
double weight_from(const nlohmann::json& weight, std::string_view name);

// A text, or a list of texts and of {"type": "text", "text": …}, which are joined as they stand. Errors:
// ConfigError beginning with the name, where it is something else: an image, a call, nothing.
std::string text_from(const nlohmann::json& value, std::string_view name);

// A list of {role, content} or {from, value}, or one such message. Roles are system, user or human, assistant or
// gpt. The assistant's may have a `weight` and `train`. Errors: ConfigError naming the message by its number.
std::vector<rollout::ChatMessage> messages_from(const nlohmann::json& list, std::string_view name);

// Errors: ConfigError unless a system message comes first at most, then user and assistant take turns, the
// assistant's is the last, at least one answer is learned, and none of those is empty.
void check_conversation(const std::vector<rollout::ChatMessage>& messages);

}  // namespace temper::trainer
