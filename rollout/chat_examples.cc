#include "rollout/chat_examples.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "base/input/utf8.h"

namespace temper::rollout {
namespace {

using Json = nlohmann::json;

constexpr JsonLimits kLimits{.bytes = 64 << 20};  // limits of one line
constexpr double kMostWeight = 1e6;
constexpr const char* kForm =
    R"(a line is {"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]})";

void check_keys(const Json& message) {
  for (const auto& [key, value] : message.items())
    if (key != "role" && key != "content" && key != "weight" && key != "train")
      throw ConfigError("'{}' is not known: must be role, content, weight or train", printable(key));
}

std::string string_of(const Json& message, const char* key) {
  const auto found = message.find(key);
  if (found == message.end()) throw ConfigError("it has no {}", key);
  if (!found->is_string()) throw ConfigError("{} is {}: must be a string", key, shown(*found));
  return *found;
}

double weight_of(const Json& message) {
  const Json weight = message.value("weight", Json(1.0)), train = message.value("train", Json(true));
  if (!weight.is_number() || !(weight.get<double>() >= 0) || !(weight.get<double>() <= kMostWeight))
    throw ConfigError("weight is {}: must be a number of at least 0 and at most {}", shown(weight),
                      kMostWeight);
  if (!train.is_boolean()) throw ConfigError("train is {}: must be true or false", shown(train));
  return train.get<bool>() ? weight.get<double>() : 0;
}

// `before` is the role of the message in front of it, or empty.
void check_order(const std::string& role, const std::string& before) {
  const auto allowed = [&]() -> std::string {
    if (before.empty()) return "system or user";
    return before == "user" ? "assistant" : "user";
  }();
  if (role != "system" && role != "user" && role != "assistant")
    throw ConfigError("role is '{}': must be system, user or assistant", printable(role));
  if (allowed.find(role) == std::string::npos)
    throw ConfigError("role is {}: {} must be {}", role, before.empty() ? "the first" : "after " + before,
                      allowed);
}

ChatMessage message_from(const Json& json, const std::string& before) {
  if (!json.is_object()) throw ConfigError("it is {}: must be an object of role and content", shown(json));
  check_keys(json);
  ChatMessage message{string_of(json, "role"), string_of(json, "content")};
  check_order(message.role, before);
  if (message.role == "assistant") {
    message.weight = weight_of(json);
    if (message.weight > 0 && message.content.find_first_not_of(" \t\r\n") == std::string::npos)
      throw ConfigError(
          "content is {}: an answer that is learned says something; \"train\": false makes it context",
          shown(json["content"]));
  } else if (json.contains("weight") || json.contains("train"))
    throw ConfigError("weight and train are for the assistant's messages alone, its role is {}",
                      message.role);
  return message;
}

// What other trainers' files have in the place of messages.
std::string other_form(const Json& json) {
  struct Form {
    const char *key, *way;
  };
  constexpr Form kForms[] = {
      {"conversations", "from and value are role and content here, human is user and gpt is assistant"},
      {"prompt", "the prompt is the user's content here, and the completion the assistant's"},
      {"instruction", "instruction and input are the user's content here, and output is the assistant's"},
      {"text", "a text without roles is not learned"}};
  if (!json.is_object()) return "";
  for (const Form& form : kForms)
    if (json.contains(form.key)) return fmt::format(", and has {}: {}", form.key, form.way);
  return "";
}

Json parsed(const std::string& text) try {
  return parse_json(text, "it", kLimits);
} catch (const ConfigError& e) {
  throw ConfigError("{}; each line is a JSON object of its own: {}", e.what(), kForm);
}

// Files of other kinds, by what they begin with.
void check_kind(const std::filesystem::path& file) {
  if (std::filesystem::is_directory(file))
    throw ConfigError("{}: is a folder: name a file of JSON lines in it", file.string());
  if (!std::filesystem::is_regular_file(file)) throw ConfigError("{}: no such file", file.string());
  char begin[4] = {};
  std::ifstream(file, std::ios::binary).read(begin, sizeof begin);
  const std::string_view bytes(begin, sizeof begin);
  if (bytes.starts_with("\x1f\x8b"))
    throw ConfigError("{}: is compressed with gzip: unpack it with gunzip first", file.string());
  if (bytes == "PAR1")
    throw ConfigError(
        "{}: is a Parquet file: write it as JSON lines, as to_json() of datasets and pandas does",
        file.string());
}

ChatExample example_from(const std::string& text) {
  const Json json = parsed(text);
  if (!json.is_object() || !json.contains("messages") || !json["messages"].is_array())
    throw ConfigError("it must be an object with a list of messages{}; {}", other_form(json), kForm);
  ChatExample example;
  double learned = 0;
  for (const Json& message : json["messages"]) try {
      const std::string before = example.messages.empty() ? "" : example.messages.back().role;
      example.messages.push_back(message_from(message, before));
      learned += example.messages.back().weight;
    } catch (const ConfigError& e) {
      throw ConfigError("message {}: {}", example.messages.size() + 1, e.what());
    }
  if (example.messages.empty()) throw ConfigError("its list of messages is empty");
  if (example.messages.back().role != "assistant")
    throw ConfigError("its last message is the {}'s: must be the assistant's", example.messages.back().role);
  if (learned == 0)
    throw ConfigError("none of its messages is learned: one of the assistant's must have a weight above 0");
  return example;
}

}  // namespace

std::vector<ChatExample> read_chat_examples(const std::filesystem::path& file) {
  check_kind(file);
  std::ifstream stream(file, std::ios::binary);
  std::vector<ChatExample> examples;
  int64_t line = 0;
  for (std::string text; std::getline(stream, text);) {
    ++line;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      examples.push_back(example_from(text));
    } catch (const ConfigError& e) {
      throw ConfigError("{}:{}: {}", file.string(), line, e.what());
    }
    examples.back().line = line;
  }
  if (stream.bad() || !stream.eof()) throw WorldError("cannot read {}", file.string());
  if (examples.empty()) throw ConfigError("{}: holds no conversation", file.string());
  return examples;
}

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
