#include "policy/chat/chat_template.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/files.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "base/input/utf8.h"
#include "policy/chat/chat_layout.h"
#include "policy/text/named_tokens.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;
using Files = std::map<std::string, std::string>;

constexpr const char* kConfig = "tokenizer_config.json";

// What transformers' classes call their tokens where the files do not say it. A null says that there is none.
void take_defaults(const Json& settings, std::map<std::string, std::string>& tokens) {
  const Json tokenizer_class = settings.value("tokenizer_class", Json());
  if (!tokenizer_class.is_string()) return;
  const auto is = [&](const char* name) { return tokenizer_class.get<std::string>().starts_with(name); };
  std::map<std::string, std::string> defaults;
  if (is("LlamaTokenizer") || is("CodeLlamaTokenizer"))
    defaults = {{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}};
  if (is("Qwen2Tokenizer"))
    defaults = {
        {"unk_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}, {"pad_token", "<|endoftext|>"}};
  if (is("GPT2Tokenizer"))
    defaults = {
        {"unk_token", "<|endoftext|>"}, {"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}};
  std::erase_if(defaults, [&](const auto& token) { return settings.contains(token.first); });
  tokens.merge(defaults);
}

// Name → template, of an object or of a list, where the last one of a name counts.
Json by_name(const Json& found) {
  if (found.is_object()) return found;
  Json named = Json::object();
  for (const Json& entry : found) {
    const Json name = entry.is_object() ? entry.value("name", Json()) : Json();
    if (name.is_string()) named[name.get<std::string>()] = entry.value("template", Json());
  }
  return named;
}

// The text, or why there is none.
void take_text(const Json& found, ChatTemplate& taken) {
  if (found.is_string()) return void(taken.text = found.get<std::string>());
  if (!found.is_structured()) {
    taken.unusable =
        fmt::format("{}: chat_template is {}: must be a text, or texts by name", kConfig, shown(found));
    return;
  }
  const Json named = by_name(found);
  const auto text = named.find("default");
  if (named.empty()) {
    taken.unusable = fmt::format("{}: chat_template is {}: it lists no template", kConfig, shown(found));
  } else if (text == named.end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : named.items()) names.push_back(printable(name, 100));
    taken.unusable = fmt::format("the folder lists templates by name, and none is called default: {}",
                                 fmt::join(names, ", "));
  } else if (!text->is_string()) {
    taken.unusable = fmt::format("{}: chat_template: default is {}: must be a text", kConfig, shown(*text));
  } else {
    taken.text = text->get<std::string>();
  }
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
  const Json settings = token_settings(files);
  const Json listed = settings.value("chat_template", Json());
  ChatTemplate found;
  if (const auto file = files.find("chat_template.jinja"); file != files.end())
    found.text = file->second;
  else if (!listed.is_null())
    take_text(listed, found);
  else
    return std::nullopt;
  check_text(found);
  found.tokens = named_tokens(settings);
  take_defaults(settings, found.tokens);
  return found;
}

}  // namespace temper::policy
