#include "policy/text/chat_layouts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/json.h"
#include "policy/text/tokenizer_files.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSystem = "<|im_start|>system\n{}<|im_end|>\n",
                           kUser = "<|im_start|>user\n{}<|im_end|>\n", kAssistant = "<|im_start|>assistant\n";
constexpr std::string_view kHeaders = "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|>";

ChatLayout chatml(std::string_view name, std::string_view default_system = {}) {
  return {.name = name,
          .tokens = {"<|im_start|>", "<|im_end|>"},
          .stops = {"<|im_end|>", "<|endoftext|>"},
          .system = kSystem,
          .default_system = default_system,
          .user = kUser,
          .opening = kAssistant,
          .after_answer = "\n"};
}

// Temper's own models know nothing but <|im_end|>, and their tokens of a turn never depended on its content.
ChatLayout temper() {
  ChatLayout layout = chatml("temper");
  layout.stops = {"<|im_end|>"};
  layout.joins_text = false;
  return layout;
}

ChatLayout thinking(std::string_view name, std::string_view opening, Reasoning reasoning) {
  ChatLayout layout = chatml(name);
  layout.tokens.insert(layout.tokens.end(), {"<think>", "</think>"});
  layout.opening = opening;
  layout.reasoning = reasoning;
  return layout;
}

ChatLayout llama3(std::string_view name, std::string_view system, bool always) {
  return {.name = name,
          .tokens = {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
          .stops = {"<|eot_id|>", "<|end_of_text|>", "<|eom_id|>"},
          .start = "<|begin_of_text|>",
          .system = system,
          .system_always = always,
          .user = kHeaders,
          .opening = "<|start_header_id|>assistant<|end_header_id|>\n\n",
          .trims = true};
}

ChatLayout llama2() {
  return {.name = "llama2",
          .tokens = {"<s>", "</s>"},
          .stops = {"</s>"},
          .start = "<s>",
          .further_start = "<s>",
          .merged_system = "<<SYS>>\n{}\n<</SYS>>\n\n",
          .user = "[INST] {} [/INST]",
          .answer = "{} ",
          .trims = true};
}

ChatLayout mistral(std::string_view name, bool special) {
  ChatLayout layout = {.name = name,
                       .tokens = {"<s>", "</s>"},
                       .stops = {"</s>"},
                       .start = "<s>",
                       .merged_system = "{}\n\n",
                       .user = special ? "[INST]{}[/INST]" : "[INST] {} [/INST]"};
  if (special) layout.tokens.insert(layout.tokens.end(), {"[INST]", "[/INST]"});
  return layout;
}

const std::vector<ChatLayout>& layouts() {
  static const std::vector<ChatLayout> all = {
      temper(),
      chatml("chatml"),
      chatml("qwen2", "You are a helpful assistant."),
      chatml("qwen2.5", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
      thinking("qwen3", kAssistant, Reasoning::kWritten),
      thinking("qwen3_no_thinking", "<|im_start|>assistant\n<think>\n\n</think>\n\n", Reasoning::kNone),
      thinking("qwq", "<|im_start|>assistant\n<think>\n", Reasoning::kOpened),
      llama3("llama3", "<|start_header_id|>system<|end_header_id|>\n\n{}<|eot_id|>", false),
      llama3("llama3.1",
             "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
             "Today Date: 26 Jul 2024\n\n{}<|eot_id|>",
             true),
      llama2(),
      mistral("mistral_v1", false),
      mistral("mistral_v3", true)};
  return all;
}

// The template that transformers would use; empty where there is none.
std::string chat_template(const Tokenizer& tokenizer) {
  const auto& files = tokenizer.files();
  if (const auto file = files.find("chat_template.jinja"); file != files.end()) return file->second;
  const auto file = files.find("tokenizer_config.json");
  if (file == files.end()) return "";
  const Json found = parse_json_object(file->second, "tokenizer_config.json").value("chat_template", Json());
  if (found.is_string()) return found.get<std::string>();
  if (found.is_array())
    for (const Json& entry : found)
      if (entry.is_object() && entry.value("name", Json()) == "default" &&
          entry.value("template", Json()).is_string())
        return entry["template"].get<std::string>();
  return "";
}

std::string_view name_by_template(const std::string& text, bool special_inst) {
  const auto has = [&](std::string_view mark) { return text.find(mark) != std::string::npos; };
  if (text == kOwnChatTemplate) return "temper";
  if (has("<|im_start|>")) {
    if (has("enable_thinking")) return "qwen3";
    if (has("assistant\\n<think>\\n")) return "qwq";
    if (has("You are Qwen, created by Alibaba Cloud")) return "qwen2.5";
    return has("You are a helpful assistant") ? "qwen2" : "chatml";
  }
  if (has("<|start_header_id|>")) return has("Cutting Knowledge Date") ? "llama3.1" : "llama3";
  if (!has("[INST]") || has("[SYSTEM_PROMPT]")) return "";
  if (has("<<SYS>>")) return "llama2";
  return special_inst ? "mistral_v3" : "mistral_v1";
}

std::string_view name_by_tokens(const Tokenizer& tokenizer) {
  const auto has = [&](std::string_view token) { return tokenizer.find_special(token).has_value(); };
  if (has("<|im_start|>")) return has("<think>") ? "qwen3" : "chatml";
  if (has("<|start_header_id|>")) return "llama3";
  return has("[INST]") ? "mistral_v3" : "";
}

}  // namespace

std::vector<std::string> layout_names() {
  std::vector<std::string> names = {"auto"};
  for (const ChatLayout& layout : layouts()) names.emplace_back(layout.name);
  return names;
}

const ChatLayout& layout_named(std::string_view name) {
  const auto found = std::ranges::find(layouts(), name, &ChatLayout::name);
  if (found == layouts().end())
    throw ConfigError("chat format: '{}' is not known: must be one of {}", name,
                      fmt::join(layout_names(), ", "));
  return *found;
}

const ChatLayout& recognised_layout(const Tokenizer& tokenizer) {
  const std::string text = chat_template(tokenizer);
  const std::string_view name = text.empty()
                                    ? name_by_tokens(tokenizer)
                                    : name_by_template(text, tokenizer.find_special("[INST]").has_value());
  if (name.empty())
    throw ConfigError("model: its {} is not known: model.chat_format must be one of {}",
                      text.empty() ? "set of special tokens" : "chat template",
                      fmt::join(layout_names(), ", "));
  return layout_named(name);
}

}  // namespace temper::policy
