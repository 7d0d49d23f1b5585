#include "policy/chat/chat_template.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/input/json.h"
#include "base/input/utf8.h"
#include "policy/chat/chat_layout.h"

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

// The text, or why there is none.
void take_text(const Json& found, ChatTemplate& taken) {
  if (found.is_string()) return void(taken.text = found.get<std::string>());
  for (const Json& entry : found)
    if (entry.is_object() && entry.value("name", Json()) == "default" &&
        entry.value("template", Json()).is_string())
      return void(taken.text = entry["template"].get<std::string>());
  taken.unusable = fmt::format("{} lists templates by name, and none is called default", kConfig);
}

// Nobody's program is as large; what Jinja does with one grows faster than its size.
constexpr size_t kMostBytes = 1 << 20;

void check_text(ChatTemplate& taken) {
  if (!taken.unusable.empty()) return;
  if (taken.text.find_first_not_of(kWhiteSpace) == std::string::npos)
    taken.unusable = "it is empty";
  else if (taken.text.size() > kMostBytes)
    taken.unusable = fmt::format("it has {} bytes, and at most {} are read", taken.text.size(), kMostBytes);
  else if (const size_t good = valid_utf8_prefix(taken.text); good != taken.text.size())
    taken.unusable = fmt::format("it is not UTF-8: byte {}", good + 1);
  if (!taken.unusable.empty()) taken.text.clear();
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
  const Json listed = config.value("chat_template", Json());
  ChatTemplate found;
  if (const auto file = files.find("chat_template.jinja"); file != files.end())
    found.text = file->second;
  else if (listed.is_string() || (listed.is_array() && !listed.empty()))
    take_text(listed, found);
  else
    return std::nullopt;
  check_text(found);
  take_tokens(config, found.tokens);
  take_tokens(read(files, "special_tokens_map.json"), found.tokens);
  const Json name = config.value("tokenizer_class", Json());
  if (name.is_string()) take_defaults(name.get<std::string>(), found.tokens);
  return found;
}

}  // namespace temper::policy
