#include "policy/text/named_tokens.h"

#include <nlohmann/json.hpp>

#include "base/input/json.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;
using Files = std::map<std::string, std::string>;

constexpr const char* kExtraTokens = "extra_special_tokens";

Json object_in(const Files& files, const char* name) {
  const auto file = files.find(name);
  return file == files.end() ? Json::object() : parse_json_object(file->second, name);
}

// A token's text stands alone, or with the token's flags.
void take_text_of(const std::string& name, const Json& token, std::map<std::string, std::string>& tokens) {
  const Json text = token.is_object() ? token.value("content", Json()) : token;
  if (text.is_string()) tokens[name] = text.get<std::string>();
}

}  // namespace

Json token_settings(const Files& files) {
  Json settings = object_in(files, "tokenizer_config.json");
  if (settings.contains("added_tokens_decoder")) return settings;
  const Json map = object_in(files, "special_tokens_map.json");
  for (const auto& [key, value] : map.items()) {
    // A list there gives no names, and takes none away.
    const bool named = key == kExtraTokens && settings.value(kExtraTokens, Json()).is_object();
    if (named && value.is_object())
      settings[kExtraTokens].update(value);
    else if (!named)
      settings[key] = value;
  }
  return settings;
}

std::map<std::string, std::string> named_tokens(const Json& settings) {
  std::map<std::string, std::string> tokens;
  for (const auto& [key, value] : settings.items())
    if (key.ends_with("_token")) take_text_of(key, value, tokens);
  const Json extra = settings.value(kExtraTokens, Json());
  if (extra.is_object())
    for (const auto& [key, value] : extra.items()) take_text_of(key, value, tokens);
  return tokens;
}

}  // namespace temper::policy
