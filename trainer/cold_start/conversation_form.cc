#include "trainer/cold_start/conversation_form.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/rows/rows.h"
#include "trainer/cold_start/row_fields.h"
#include "trainer/cold_start/row_messages.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;
using rollout::ChatMessage;
using Names = std::vector<std::string>;

const Names kMessageNames = {"messages", "conversations", "conversation"};
const Names kPromptNames = {"prompt", "question", "query", "input"};
const Names kCompletionNames = {"completion", "response", "answer", "output"};
constexpr const char* kInstruction = "instruction";
constexpr const char* kText = "text";
const Names kSystemNames = {"system", "system_prompt"};
const Names kInputNames = {"input", "context"};  // alpaca's
constexpr const char* kTextOrMessages = "a text or a list of messages";

constexpr const char* kNameThem =
    "cold_start.fields.messages, or .prompt and .completion, name the fields by dotted paths";

bool is_among(const Names& names, const std::string& name) { return std::ranges::count(names, name) > 0; }

[[noreturn]] void throw_both(const std::string& one, const std::string& other, const char* option) {
  throw ConfigError(
      "it has both {} and {}; cold_start.fields.{} names the one that is meant{}", one, other, option,
      is_among(kInputNames, other)
          ? fmt::format(", and the form of alpaca ({}, {}, output) asks both", kInstruction, other)
          : "");
}

// The name that the row has, or "". One that says something goes before one that does not. Errors: ConfigError if
// two say something.
std::string one_of_names(const Json& row, const Names& names, const char* option) {
  std::string found;
  for (const std::string& name : names) {
    if (!has(row, name)) continue;
    if (!found.empty() && says_something(row, found) && says_something(row, name))
      throw_both(found, name, option);
    if (found.empty() || says_something(row, name)) found = name;
  }
  return found;
}

// Errors: ConfigError if one of the names says something that is not read, since the file's first row had others.
void refuse_beside(const Json& row, const std::string& used, const Names& names, const char* option) {
  for (const std::string& name : names)
    if (name != used && says_something(row, name)) throw_both(used, name, option);
}

// Which of alpaca's two names the row's input has.
std::string input_name(const Json& row) {
  if (!says_something(row, "context")) return "input";
  if (says_something(row, "input"))
    throw ConfigError("it has both input and context: one of them follows the instruction; join the two");
  return "context";
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
  for (const std::string& name : kRowLists)
    if (has(row, name) && row[name].is_array() && row[name].empty())
      return fmt::format("it holds no conversation, since {} is an empty list; ", name);
  return "";
}

std::string its_fields(const Json& row) {
  return row.empty() ? "it has no fields" : "its fields are " + fields_of(row);
}

void refuse_null(const Json& row, const Names& names, std::string_view allowed) {
  for (const std::string& name : names)
    if (row.contains(name) && row[name].is_null()) throw ConfigError("{} is null: must be {}", name, allowed);
}

// `prompt` and `completion`: the names that were found, or empty.
[[noreturn]] void throw_no_form(const Json& row, const std::string& prompt, const std::string& completion) {
  const std::string otherwise = known_otherwise(row);
  if (otherwise.empty()) {
    refuse_null(row, kMessageNames, "a list of messages");
    if (completion.empty()) refuse_null(row, kCompletionNames, kTextOrMessages);
    refuse_null(row, {kInstruction}, "a text");
    if (prompt.empty() && !has(row, kInstruction)) refuse_null(row, kPromptNames, kTextOrMessages);
    if (prompt.empty() && completion.empty()) refuse_null(row, {kText}, "a text");
  }
  throw ConfigError("it has no form that is known: {}{}; {}", otherwise, its_fields(row), kNameThem);
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
  if (!value.is_structured()) throw ConfigError("{} is {}: must be {}", name, shown(value), kTextOrMessages);
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
  if (!has(row, kInstruction)) return false;
  completion_ = one_of_names(row, kCompletionNames, "completion");
  if (completion_.empty()) return false;
  prompt_ = kInstruction;
  kind_ = Kind::kAlpaca;
  name_ = fmt::format("alpaca ({}, {} on a line of its own, {})", kInstruction,
                      !row.contains("context") ? "input"
                      : row.contains("input")  ? "input or context"
                                               : "context",
                      completion_);
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
  if (prompt_.empty() || completion_.empty()) throw_no_form(row, prompt_, completion_);
  required(row, prompt_, "prompt");
  required(row, completion_, "completion");
  name_ = fmt::format("prompt + completion ({}, {})", prompt_, completion_);
}

const Json& ConversationForm::required(const Json& row, const std::string& field,
                                       std::string_view option) const {
  const Json* found = field_at(row, field);
  if (!found)
    throw ConfigError(
        "it has no field {}, which {}; {}", field,
        option.empty() ? "the file's first row has" : fmt::format("cold_start.fields.{} names", option),
        its_fields(row));
  return *found;
}

std::vector<ChatMessage> ConversationForm::messages_of(const Json& row) const {
  if (kind_ == Kind::kMessages) {
    const Json& list = required(row, messages_, fields_.messages.empty() ? "" : "messages");
    if (!list.is_array()) throw ConfigError("{} is {}: must be a list of messages", messages_, shown(list));
    return messages_from(list, messages_);
  }
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
  const std::string input = input_name(row);
  if (says_something(row, input)) text += (text.empty() ? "" : "\n") + text_from(row[input], input);
  return {ChatMessage{"user", text}, ChatMessage{"assistant", text_from(completion, completion_), 1}};
}

void ConversationForm::refuse_other_names(const Json& row) const {
  if (kind_ == Kind::kMessages && fields_.messages.empty())
    refuse_beside(row, messages_, kMessageNames, "messages");
  if (kind_ == Kind::kPair && fields_.prompt.empty()) {
    Names names = kPromptNames;
    names.insert(names.end(), {"context", kInstruction});
    std::erase(names, completion_);
    refuse_beside(row, prompt_, names, "prompt");
  }
  if ((kind_ == Kind::kPair || kind_ == Kind::kAlpaca) && fields_.completion.empty())
    refuse_beside(row, completion_, kCompletionNames, "completion");
  if (says_something(row, "rejected") && (kind_ == Kind::kMessages || says_something(row, "chosen")) &&
      fields_.messages.empty() && fields_.completion.empty())
    throw ConfigError(
        "rejected is {}: an answer that is not wanted cannot be learned; cold_start.fields.messages or "
        ".completion names what is",
        shown(row["rejected"]));
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
  refuse_what_is_lost(row, fields_);
  if (kind_ == Kind::kText) return plain_text(row);
  rollout::ChatExample example{.messages = messages_of(row)};
  refuse_other_names(row);
  add_system(row, example.messages);
  weigh(row, example.messages);
  check_conversation(example.messages);
  return example;
}

}  // namespace temper::trainer
