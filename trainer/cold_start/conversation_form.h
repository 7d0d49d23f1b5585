#pragma once
// How rows of data hold conversations. The first row of a file tells, and all others must be like it.
//
//   messages    {"messages": [{"role": "user", "content": "…"},
//                              {"role": "assistant", "content": "…", "weight": 0.5}]}
//   ShareGPT    {"conversations": [{"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}]}
//   prompt + completion    {"prompt": "…", "completion": "…"}, each a text or messages; also question, query,
//                          input and response, answer, output
//   alpaca      {"instruction": "…", "input": "…", "output": "…"}; also context, and completion's other names
//   plain text  {"text": "…"}, and nothing else that is known: no conversation, and all of it is learned
//
// A row's `system` or `system_prompt` is the system message of a conversation that has none. Its `weight` counts
// its answers more or less. Other keys are ignored, but for those that say that the row is not to be learned so:
// tools, label: false, history, images, reasoning, and two names for one thing that both say something.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "rollout/chat_examples.h"
#include "trainer/cold_start/data_fields.h"

namespace temper::trainer {

class ConversationForm {
 public:
  // Errors: ConfigError if the row has none of the forms, naming the fields that it has, or has two of them.
  ConversationForm(const nlohmann::json& row, const DataFields& fields);

  // "ShareGPT (conversations: from, value)"
  const std::string& name() const { return name_; }
  // Errors: ConfigError naming the field or the message, and what is allowed.
  rollout::ChatExample example_of(const nlohmann::json& row) const;

 private:
  enum class Kind { kMessages, kPair, kAlpaca, kText };

  void take_messages(const nlohmann::json& row, std::string field);
  void take_pair(const nlohmann::json& row, const DataFields& fields);
  bool take_alpaca(const nlohmann::json& row);
  bool take_text(const nlohmann::json& row);
  const nlohmann::json& required(const nlohmann::json& row, const std::string& field,
                                 std::string_view option) const;
  rollout::ChatExample plain_text(const nlohmann::json& row) const;
  std::vector<rollout::ChatMessage> messages_of(const nlohmann::json& row) const;
  void refuse_other_names(const nlohmann::json& row) const;
  void weigh(const nlohmann::json& row, std::vector<rollout::ChatMessage>& messages) const;

  DataFields fields_;
  Kind kind_ = Kind::kMessages;
  std::string messages_, prompt_, completion_;
  std::string name_;
};

}  // namespace temper::trainer
