#include "policy/chat/chat_template.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;
using Files = std::map<std::string, std::string>;

constexpr const char* kConfig = "tokenizer_config.json";

Json read(const Files& files, const char* name) {
  const auto file = files.find(name);
  return file == files.end() ? Json::object() : parse_json_object(file->second, name);
}

// A token's name stands alone, or with the token's flags.
void take_tokens(const Json& config, std::map<std::string, std::string>& tokens) {
  for (const char* key :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    Json token = config.value(key, Json());
    if (token.is_object()) token = token.value("content", Json());
    if (token.is_string()) tokens.emplace(key, token.get<std::string>());
  }
}

// What transformers' classes call their tokens where the files do not say it.
void take_defaults(const std::string& tokenizer_class, std::map<std::string, std::string>& tokens) {
  const auto is = [&](const char* name) { return tokenizer_class.starts_with(name); };
  std::map<std::string, std::string> defaults;
  if (is("LlamaTokenizer") || is("CodeLlamaTokenizer"))
    defaults = {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}};
  if (is("Qwen2Tokenizer"))
    defaults = {
        {"unk_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}, {"pad_token", "<|endoftext|>"}};
  if (is("GPT2Tokenizer"))
    defaults = {
        {"unk_token", "<|endoftext|>"}, {"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}};
  tokens.merge(defaults);
}

std::string template_of(const Json& found) {
  if (found.is_string()) return found.get<std::string>();
  if (!found.is_array() || found.empty()) return "";
  for (const Json& entry : found)
    if (entry.is_object() && entry.value("name", Json()) == "default" &&
        entry.value("template", Json()).is_string())
      return entry["template"].get<std::string>();
  throw ConfigError(
      "{}: chat_template lists templates by name, and none is called default; model.chat_format names a "
      "known "
      "format instead",
      kConfig);
}

}  // namespace

bool ChatTemplate::asks_for_date() const { return text.find("strftime_now") != std::string::npos; }

std::string ChatTemplate::digest() const {
  Sha256 all;
  const auto add = [&](const std::string& part) {
    const uint64_t size = part.size();
    all.add(&size, sizeof size);
    all.add(part.data(), size);
  };
  add(text);
  add(arguments);
  add(asks_for_date() ? date : "");
  return all.hex();
}

std::optional<ChatTemplate> find_chat_template(const Files& files) {
  const Json config = read(files, kConfig);
  ChatTemplate found;
  if (const auto file = files.find("chat_template.jinja"); file != files.end())
    found.text = file->second;
  else
    found.text = template_of(config.value("chat_template", Json()));
  if (found.text.empty()) return std::nullopt;
  take_tokens(config, found.tokens);
  take_tokens(read(files, "special_tokens_map.json"), found.tokens);
  const Json name = config.value("tokenizer_class", Json());
  if (name.is_string()) take_defaults(name.get<std::string>(), found.tokens);
  return found;
}

}  // namespace temper::policy
