#include "trainer/cold_start/conversation_form.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/rows/rows.h"
#include "trainer/cold_start/row_messages.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;
using rollout::ChatMessage;
using Names = std::vector<std::string>;

const Names kMessageNames = {"messages", "conversations", "conversation"};
const Names kPromptNames = {"prompt", "question", "query", "input"};
const Names kCompletionNames = {"completion", "response", "answer", "output"};
constexpr const char* kText = "text";
const Names kSystemNames = {"system", "system_prompt"};

constexpr const char* kNameThem =
    "cold_start.fields.messages, or .prompt and .completion, name the fields by dotted paths";

bool has(const Json& row, const std::string& name) {
  const auto found = row.find(name);
  return found != row.end() && !found->is_null();
}

bool says_something(const Json& row, const std::string& name) {
  if (!has(row, name)) return false;
  const Json& value = row[name];
  if (!value.is_string()) return !value.is_structured() || !value.empty();
  const std::string& text = value.get_ref<const std::string&>();
  return !text.empty() && text != "[]";
}

// The name that the row has, or "". Errors: ConfigError if it has two.
std::string one_of_names(const Json& row, const Names& names, const char* option) {
  std::string found;
  for (const std::string& name : names) {
    if (!has(row, name)) continue;
    if (!found.empty())
      throw ConfigError("it has both {} and {}; cold_start.fields.{} names the one that is meant", found,
                        name, option);
    found = name;
  }
  return found;
}

// What rows are that have no answer to learn from, or none of their own.
std::string known_otherwise(const Json& row) {
  if (has(row, "chosen") && has(row, "rejected"))
    return "it is a pair of answers, of which one is preferred; cold_start.fields.completion=chosen learns "
           "the chosen one, "
           "and cold_start.fields.messages=chosen where that is the whole conversation; ";
  if ((has(row, "role") && has(row, "content")) || (has(row, "from") && has(row, "value")))
    return "it is one message, and a row holds a conversation: {\"messages\": [...]}; ";
  if (has(row, "prompt") && (has(row, "reward_model") || has(row, "extra_info")))
    return "it has a prompt and no answer, as rows for reinforcement learning; "
           "cold_start.fields.completion=extra_info.answer "
           "would take the answer from there; ";
  return "";
}

[[noreturn]] void throw_no_form(const Json& row) {
  throw ConfigError("it has no form that is known: {}its fields are {}; {}", known_otherwise(row),
                    fields_of(row), kNameThem);
}

void refuse_what_is_lost(const Json& row) {
  for (const char* name : {"tools", "functions"})
    if (says_something(row, name))
      throw ConfigError("{} is {}: calls of tools cannot be learned; leave such rows out", name,
                        shown(row[name]));
  if (has(row, "label") && row["label"].is_boolean() && !row["label"].get<bool>())
    throw ConfigError("label is false: an answer that is not wanted cannot be learned; leave such rows out");
}

void add_system(const Json& row, std::vector<ChatMessage>& messages) {
  for (const std::string& name : kSystemNames) {
    if (!says_something(row, name)) continue;
    if (messages.front().role == "system")
      throw ConfigError("it has a {} beside a system message: must have one of them", name);
    messages.insert(messages.begin(), ChatMessage{"system", text_from(row[name], name)});
  }
}

std::vector<ChatMessage> part_from(const Json& value, const std::string& name) {
  if (!value.is_structured())
    throw ConfigError("{} is {}: must be a text or a list of messages", name, shown(value));
  return messages_from(value, name);
}

std::vector<ChatMessage> asked(const Json& prompt, const std::string& name) {
  if (prompt.is_string()) return {ChatMessage{"user", prompt.get<std::string>()}};
  std::vector<ChatMessage> messages = part_from(prompt, name);
  for (ChatMessage& message : messages) message.weight = 0;
  if (messages.back().role == "assistant")
    throw ConfigError("{} ends with an answer: must end with what the user asks", name);
  return messages;
}

std::vector<ChatMessage> answered(const Json& completion, const std::string& name) {
  if (completion.is_string()) return {ChatMessage{"assistant", completion.get<std::string>(), 1}};
  std::vector<ChatMessage> messages = part_from(completion, name);
  if (messages.front().role != "assistant")
    throw ConfigError("{} begins with the {}'s message: must begin with the assistant's", name,
                      messages.front().role);
  return messages;
}

}  // namespace

ConversationForm::ConversationForm(const Json& row, const DataFields& fields) : fields_(fields) {
  if (!fields.messages.empty()) {
    take_messages(row, fields.messages);
  } else if (!fields.prompt.empty() || !fields.completion.empty()) {
    take_pair(row, fields);
  } else if (const std::string list = one_of_names(row, kMessageNames, "messages"); !list.empty()) {
    take_messages(row, list);
  } else if (!take_alpaca(row) && !take_text(row)) {
    take_pair(row, fields);
  }
  if (!fields.weight.empty() || has(row, "weight"))
    name_ += fmt::format(", weight ({})", fields.weight.empty() ? "weight" : fields.weight);
}

void ConversationForm::take_messages(const Json& row, std::string field) {
  messages_ = std::move(field);
  const Json& list = required(row, messages_, "messages");
  const bool share =
      list.is_array() && !list.empty() && list.front().is_object() && has(list.front(), "from");
  name_ = fmt::format("{} ({}: {})", share ? "ShareGPT" : "messages", messages_,
                      share ? "from, value" : "role, content");
}

bool ConversationForm::take_alpaca(const Json& row) {
  if (!has(row, "instruction")) return false;
  completion_ = one_of_names(row, kCompletionNames, "completion");
  if (completion_.empty()) return false;
  prompt_ = "instruction";
  input_ = row.contains("context") && !row.contains("input") ? "context" : "input";
  kind_ = Kind::kAlpaca;
  name_ = fmt::format("alpaca (instruction, {} on a line of its own, {})", input_, completion_);
  return true;
}

bool ConversationForm::take_text(const Json& row) {
  if (!has(row, kText)) return false;
  for (const Names* names : {&kPromptNames, &kCompletionNames})
    if (std::ranges::any_of(*names, [&](const std::string& name) { return has(row, name); })) return false;
  kind_ = Kind::kText;
  name_ = fmt::format("plain text ({}), learned whole and without a chat format", kText);
  return true;
}

void ConversationForm::take_pair(const Json& row, const DataFields& fields) {
  kind_ = Kind::kPair;
  prompt_ = fields.prompt.empty() ? one_of_names(row, kPromptNames, "prompt") : fields.prompt;
  completion_ =
      fields.completion.empty() ? one_of_names(row, kCompletionNames, "completion") : fields.completion;
  if (prompt_.empty() || completion_.empty()) throw_no_form(row);
  required(row, prompt_, "prompt");
  required(row, completion_, "completion");
  name_ = fmt::format("prompt + completion ({}, {})", prompt_, completion_);
}

const Json& ConversationForm::required(const Json& row, const std::string& field,
                                       std::string_view option) const {
  const Json* found = field_at(row, field);
  if (!found)
    throw ConfigError(
        "it has no field {}, which {}; its fields are {}", field,
        option.empty() ? "the file's first row has" : fmt::format("cold_start.fields.{} names", option),
        fields_of(row));
  return *found;
}

std::vector<ChatMessage> ConversationForm::messages_of(const Json& row) const {
  if (kind_ == Kind::kMessages)
    return messages_from(required(row, messages_, fields_.messages.empty() ? "" : "messages"), messages_);
  const Json& prompt = required(row, prompt_, fields_.prompt.empty() ? "" : "prompt");
  const Json& completion = required(row, completion_, fields_.completion.empty() ? "" : "completion");
  if (kind_ == Kind::kPair) {
    std::vector<ChatMessage> messages = asked(prompt, prompt_), answers = answered(completion, completion_);
    messages.insert(messages.end(), answers.begin(), answers.end());
    return messages;
  }
  if (says_something(row, "history"))
    throw ConfigError("history is {}: earlier turns are read from messages alone; write the row as those",
                      shown(row["history"]));
  std::string text = text_from(prompt, prompt_);
  if (says_something(row, input_)) text += (text.empty() ? "" : "\n") + text_from(row[input_], input_);
  return {ChatMessage{"user", text}, ChatMessage{"assistant", text_from(completion, completion_), 1}};
}

void ConversationForm::weigh(const Json& row, std::vector<ChatMessage>& messages) const {
  const std::string field = fields_.weight.empty() ? "weight" : fields_.weight;
  const Json* weight = fields_.weight.empty() ? field_at(row, field) : &required(row, field, "weight");
  if (!weight || (weight->is_null() && fields_.weight.empty())) return;
  const double factor = weight_from(*weight, field);
  for (ChatMessage& message : messages) {
    message.weight *= factor;
    if (message.weight > kMostWeight)
      throw ConfigError("{} is {}, which makes the weight of a message {}: must be at most {}", field, factor,
                        message.weight, kMostWeight);
  }
}

rollout::ChatExample ConversationForm::plain_text(const Json& row) const {
  const Json& text = required(row, kText, "");
  if (!text.is_string()) throw ConfigError("{} is {}: must be a text", kText, shown(text));
  rollout::ChatExample example{.messages = {{rollout::kPlainText, text.get<std::string>(), 1}}};
  if (example.messages.front().content.find_first_not_of(" \t\r\n") == std::string::npos)
    throw ConfigError("{} is {}: a text that is learned says something", kText, shown(text));
  weigh(row, example.messages);
  if (example.messages.front().weight == 0)
    throw ConfigError("its weight is 0, and nothing of it would be learned: leave the row out");
  return example;
}

rollout::ChatExample ConversationForm::example_of(const Json& row) const {
  refuse_what_is_lost(row);
  if (kind_ == Kind::kText) return plain_text(row);
  rollout::ChatExample example{.messages = messages_of(row)};
  add_system(row, example.messages);
  weigh(row, example.messages);
  check_conversation(example.messages);
  return example;
}

}  // namespace temper::trainer
