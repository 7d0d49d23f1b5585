#include "trainer/app/commands/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "policy/chat/chat_format.h"
#include "policy/chat/choice.h"
#include "rollout/conversation.h"
#include "rollout/example_turns.h"
#include "rollout/prompt/prompt.h"
#include "trainer/app/commands/commands.h"
#include "trainer/checkpoint/restore.h"
#include "trainer/run/model.h"
#include "trainer/run/terminal.h"

namespace temper::trainer {
namespace {

using Messages = std::vector<policy::ChatMessage>;

Messages messages_of(const RunConfig& config, const env::Task& task, const PromptWords& words) {
  const std::vector<std::string> names = rollout::example_verdict_names();
  const auto verdict = std::ranges::find(names, words.verdict);
  if (words.verdict.empty()) return rollout::example_conversation(config.rollout.context, task, 0);
  if (verdict == names.end()) throw ConfigError("--verdict: '{}' is not known", words.verdict);
  return rollout::example_conversation(config.rollout.context, task, 1, size_t(verdict - names.begin()));
}

// The model's tokenizer, which knows how its conversations are written.
std::optional<policy::Tokenizer> tokenizer_of(const RunConfig& config) {
  if (config.model.path.empty()) return std::nullopt;
  const std::filesystem::path dir = model_folder(config.model.path, "model.path");
  policy::Tokenizer tokenizer = policy::Tokenizer::load(dir);
  if (is_checkpoint(dir)) policy::take_kept_layout(tokenizer, dir);
  decide_chat(tokenizer, config.model.chat());
  return tokenizer;
}

struct Written {
  std::string text;
  size_t tokens = 0;
};
Written write(const RunConfig& config, policy::Tokenizer& tokenizer, const Messages& messages) {
  for (const std::string& line : policy::try_chat(tokenizer, config.model.chat(), {{messages, true}}))
    say_beside(line);
  std::vector<int32_t> ids;
  try {
    ids = policy::ChatFormat(tokenizer).conversation(messages).ids;
  } catch (const ConfigError& e) {
    throw ConfigError("{}{}", messages.front().role == "system" ? "rollout.prompt.system: " : "", e.what());
  }
  Written written{.text = "", .tokens = ids.size()};
  for (const int32_t id : ids) written.text += tokenizer.token_text(id);
  return written;
}

nlohmann::json json_of(const env::Task& task, const Messages& messages,
                       const std::optional<Written>& written) {
  nlohmann::json json = {{"task", task.name}, {"messages", nlohmann::json::array()}};
  for (const policy::ChatMessage& message : messages)
    json["messages"].push_back({{"role", message.role}, {"content", message.content}});
  if (written) json.update({{"text", written->text}, {"tokens", written->tokens}});
  return json;
}

void print_messages(const Messages& messages, const std::optional<Written>& written) {
  for (const policy::ChatMessage& message : messages)
    fmt::print("--- {}\n{}\n", message.role, message.content);
  if (written) fmt::print("--- as the model reads it, {} tokens\n{}\n", written->tokens, written->text);
}

}  // namespace

void print_prompts(const RunConfig& config, const std::vector<env::Task>& tasks, const PromptWords& words) {
  std::optional<policy::Tokenizer> tokenizer = tokenizer_of(config);
  for (const env::Task& task : tasks) {
    const Messages messages = messages_of(config, task, words);
    std::optional<Written> written;
    if (tokenizer) written = write(config, *tokenizer, messages);
    if (words.json) {
      fmt::print(
          "{}\n",
          json_of(task, messages, written).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      continue;
    }
    if (tasks.size() > 1) fmt::print("=== {}\n", task.name);
    print_messages(messages, written);
  }
}

}  // namespace temper::trainer
