#include "trainer/cold_start/row_messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;
using rollout::ChatMessage;

// What changes no text.
constexpr std::array kNotes = {"id",        "index",      "idx",   "uuid",   "turn",
                               "timestamp", "created_at", "model", "refusal"};
constexpr std::array kOfTools = {"tool_calls", "tool_call_id", "function_call", "tools", "functions"};
constexpr std::array kToolRoles = {"tool",          "function",  "ipython",      "observation",
                                   "function_call", "tool_call", "tool_response"};

bool among(const auto& names, std::string_view name) {
  return std::ranges::any_of(names, [&](std::string_view known) { return known == name; });
}

bool says_nothing(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value.is_null() || (value.is_structured() && value.empty());
}

void refuse_key(const std::string& key, const Json& value) {
  if (among(kOfTools, key))
    throw ConfigError("{} is {}: calls of tools cannot be learned; leave such rows out", key, shown(value));
  if (among(kReasoning, key)) throw_reasoning(key);
  throw ConfigError("'{}' is not known: must be role, content, weight or train, or from and value",
                    printable(key));
}

void check_keys(const Json& message, std::string_view role_key, std::string_view text_key) {
  for (const auto& [key, value] : message.items())
    if (key != role_key && key != text_key && key != "weight" && key != "train" && !among(kNotes, key) &&
        !says_nothing(value))
      refuse_key(key, value);
}

// The one of two names that the message has.
std::string key_of(const Json& message, const char* one, const char* other) {
  const bool first = message.contains(one) && !message[one].is_null(),
             second = message.contains(other) && !message[other].is_null();
  if (first && second) throw ConfigError("it has both {} and {}: must have one", one, other);
  return second ? other : one;
}

std::string role_from(const Json& value, const std::string& key) {
  if (!value.is_string()) throw ConfigError("{} is {}: must be system, user or assistant", key, shown(value));
  const std::string& role = value.get_ref<const std::string&>();
  if (role == "human") return "user";
  if (role == "gpt") return "assistant";
  if (role == "system" || role == "user" || role == "assistant") return role;
  throw ConfigError("{} is '{}': must be system, user (human) or assistant (gpt){}", key, printable(role),
                    among(kToolRoles, role) ? "; messages of tools cannot be learned, leave such rows out"
                    : role == "developer"   ? "; developer is called system here"
                                            : "");
}

double message_weight(const Json& message) {
  const Json train = message.value("train", Json(true));
  double weight = 1;
  if (message.contains("weight") && !message["weight"].is_null())
    weight = weight_from(message["weight"], "weight");
  if (!train.is_boolean() && !train.is_null())
    throw ConfigError("train is {}: must be true or false", shown(train));
  return train.is_boolean() && !train.get<bool>() ? 0 : weight;
}

ChatMessage message_from(const Json& json) {
  if (!json.is_object()) throw ConfigError("it is {}: must be an object of role and content", shown(json));
  const std::string role_key = key_of(json, "role", "from"), text_key = key_of(json, "content", "value");
  check_keys(json, role_key, text_key);
  if (!json.contains(role_key)) throw ConfigError("it has no {}", role_key);
  ChatMessage message{role_from(json[role_key], role_key), ""};
  if (!json.contains(text_key)) throw ConfigError("it has no {}", text_key);
  message.content = text_from(json[text_key], text_key);
  const auto given = [&](const char* key) { return json.contains(key) && !json[key].is_null(); };
  if (message.role == "assistant")
    message.weight = message_weight(json);
  else if (given("weight") || given("train"))
    throw ConfigError("weight and train are for the assistant's messages alone, its role is {}",
                      message.role);
  return message;
}

// `before`: the role of the message in front of it, or empty.
void check_order(const std::string& role, const std::string& before) {
  if (before.empty() ? role != "assistant" : before == "user" ? role == "assistant" : role == "user") return;
  throw ConfigError("role is {}: {} must be {}{}", role, before.empty() ? "the first" : "after " + before,
                    before.empty()     ? "system or user"
                    : before == "user" ? "assistant"
                                       : "user",
                    role == "system"                     ? "; a system message may only come first"
                    : role == "user" && before == "user" ? "; join the two, or leave the row out"
                                                         : "");
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\f\v") == text.npos; }

template <class F>
void for_message(size_t index, const F& f) {
  try {
    f();
  } catch (const ConfigError& e) {
    throw ConfigError("message {}: {}", index + 1, e.what());
  }
}

std::string text_of_part(const Json& part, std::string_view name, size_t index) {
  if (part.is_string()) return part.get<std::string>();
  if (part.is_object() && part.value("type", Json("text")) == Json("text") && part.contains("text") &&
      part["text"].is_string())
    return part["text"].get<std::string>();
  throw ConfigError("{} has {} as part {}: must be a text, for images and other parts are not learned", name,
                    shown(part), index + 1);
}

}  // namespace

void throw_reasoning(std::string_view name) {
  throw ConfigError("{} is not read: put it into the content as <think>…</think>", name);
}

double weight_from(const Json& weight, std::string_view name) {
  if (!weight.is_number() || !(weight.get<double>() >= 0) || !(weight.get<double>() <= kMostWeight))
    throw ConfigError("{} is {}: must be a number of at least 0 and at most {}", name, shown(weight),
                      kMostWeight);
  return weight.get<double>();
}

std::string text_from(const Json& value, std::string_view name) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) throw ConfigError("{} is {}: must be a text", name, shown(value));
  std::string text;
  for (size_t i = 0; i < value.size(); ++i) text += text_of_part(value[i], name, i);
  return text;
}

std::vector<ChatMessage> messages_from(const Json& list, std::string_view name) {
  if (list.is_object() && (list.contains("role") || list.contains("from")))
    return std::vector<ChatMessage>{message_from(list)};
  if (!list.is_array()) throw ConfigError("{} is {}: must be a list of messages", name, shown(list));
  if (list.empty()) throw ConfigError("its list of messages is empty");
  std::vector<ChatMessage> messages;
  for (size_t i = 0; i < list.size(); ++i) for_message(i, [&] { messages.push_back(message_from(list[i])); });
  return messages;
}

void check_conversation(const std::vector<ChatMessage>& messages) {
  double learned = 0;
  for (size_t i = 0; i < messages.size(); ++i)
    for_message(i, [&] {
      check_order(messages[i].role, i == 0 ? "" : messages[i - 1].role);
      if (messages[i].weight > 0 && is_blank(messages[i].content))
        throw ConfigError(
            "the answer is empty: leave the row out, or do not learn this message (train: false)");
      learned += messages[i].weight;
    });
  if (messages.back().role != "assistant")
    throw ConfigError("its last message is the {}'s: must be the assistant's, which is learned",
                      messages.back().role);
  if (learned == 0)
    throw ConfigError("none of its messages is learned: one of the assistant's must have a weight above 0");
}

}  // namespace temper::trainer
