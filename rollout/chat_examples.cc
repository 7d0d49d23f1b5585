#include "rollout/chat_examples.h"

#include <nlohmann/json.hpp>

#include "base/input/utf8.h"

namespace temper::rollout {

bool is_utf8(const std::string& text) { return valid_utf8_prefix(text) == text.size(); }

std::string to_line(const ChatExample& example) {
  using Ordered = nlohmann::ordered_json;
  Ordered messages = Ordered::array();
  for (const ChatMessage& message : example.messages) {
    Ordered one = {{"role", message.role}, {"content", message.content}};
    if (message.role == "assistant" && message.weight == 0) one["train"] = false;
    if (message.weight != 0 && message.weight != 1) one["weight"] = message.weight;
    messages.push_back(std::move(one));
  }
  Ordered json = {{"messages", std::move(messages)}};
  if (!example.task.empty()) {
    json["task"] = example.task;
    json["speedup"] = example.speedup;
    json["seed"] = example.seed;
  }
  return json.dump();
}

}  // namespace temper::rollout
