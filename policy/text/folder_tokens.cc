#include "policy/text/folder_tokens.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostIds = 1 << 24;
// In the order in which transformers adds them.
constexpr const char* kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};
constexpr const char *kExtra = "extra_special_tokens", *kAdditional = "additional_special_tokens";

const Json& field_of(const Json& json, const char* name) {
  static const Json null;
  if (!json.is_object()) return null;
  const auto found = json.find(name);
  return found == json.end() ? null : *found;
}

Json parsed(const FolderTokens::Files& files, const char* name, const std::string& dir) {
  const auto file = files.find(name);
  return file == files.end() ? Json::object()
                             : parse_json_object(file->second, fmt::format("{}/{}", dir, name));
}

bool token_flag(const Json& token, const char* name, bool otherwise, const std::string& where) {
  const Json& value = field_of(token, name);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean())
    throw ConfigError("{}: {} is {}: must be true or false", where, name, shown(value));
  return value.get<bool>();
}

// "LlamaTokenizerFast" → "LlamaTokenizer".
std::string slow_name(const Json& name) {
  if (!name.is_string()) return "";
  auto text = name.get<std::string>();
  if (text.ends_with("Fast")) text.resize(text.size() - 4);
  return text;
}

int64_t listed_id(const std::string& key, const std::string& where) {
  int64_t id = -1;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
  if (error != std::errc() || end != key.data() + key.size() || id < 0 || id >= kMostIds)
    throw ConfigError("{}: added_tokens_decoder: '{}' is no id: must be 0 to {}", where, printable(key),
                      kMostIds - 1);
  return id;
}

}  // namespace

AddedToken read_added_token(const Json& token, const std::string& where) {
  const Json& content = field_of(token, "content");
  if (!content.is_string() || content == "")
    throw ConfigError("{}: {} is not an object with a content", where, shown(token));
  AddedToken read{.id = -1, .name = content.get<std::string>()};
  const std::string at = fmt::format("{}: '{}'", where, printable(read.name));
  read.special = token_flag(token, "special", false, at);
  read.lstrip = token_flag(token, "lstrip", false, at);
  read.rstrip = token_flag(token, "rstrip", false, at);
  read.single_word = token_flag(token, "single_word", false, at);
  read.normalized = token_flag(token, "normalized", !read.special, at);
  return read;
}

FolderTokens::FolderTokens(const Files& files, const std::string& dir, const Json& model_config,
                           std::vector<AddedToken> json_tokens)
    : config_(parsed(files, "tokenizer_config.json", dir)),
      where_(fmt::format("{}/tokenizer_config.json", dir)) {
  for (const char* name : {"split_special_tokens", "fix_mistral_regex"})
    if (field_of(config_, name) == true)
      throw ConfigError("{}: {} is true, which is not supported: must be false or absent", where_, name);
  class_ = chosen_class(model_config);
  if (config_.contains(kAdditional) && !config_.contains(kExtra)) config_[kExtra] = config_[kAdditional];
  take_listed(files, dir, json_tokens);
  take_names(where_);
}

const std::map<std::string, FolderTokens::Class>& FolderTokens::classes() {
  static const std::map<std::string, Class> all = {{"", Class::kNone},
                                                   {"PreTrainedTokenizer", Class::kNone},
                                                   {"TokenizersBackend", Class::kNone},
                                                   {"PythonBackend", Class::kNone},
                                                   {"MistralCommonBackend", Class::kNone},
                                                   {"LlamaTokenizer", Class::kLlama},
                                                   {"CodeLlamaTokenizer", Class::kCodeLlama},
                                                   {"Qwen2Tokenizer", Class::kQwen2},
                                                   {"Qwen3_5Tokenizer", Class::kQwen35},
                                                   {"GPT2Tokenizer", Class::kGpt2}};
  return all;
}

std::string FolderTokens::class_name() const {
  for (const auto& [name, known] : classes())
    if (class_ != Class::kNone && known == class_) return name;
  return "";
}

FolderTokens::Class FolderTokens::class_of(const std::string& name) const {
  const auto found = classes().find(name);
  if (found == classes().end())
    throw ConfigError(
        "{}: tokenizer_class '{}' is not known: must be LlamaTokenizer, CodeLlamaTokenizer, Qwen2Tokenizer, "
        "Qwen3_5Tokenizer or GPT2Tokenizer, or else PreTrainedTokenizerFast, which follows tokenizer.json "
        "alone",
        where_, printable(name));
  return found->second;
}

FolderTokens::Class FolderTokens::chosen_class(const Json& model_config) const {
  static const std::map<std::string, std::string> of_models = {
      {"mistral", "TokenizersBackend"}, {"mixtral", "TokenizersBackend"},    {"qwen2", "Qwen2Tokenizer"},
      {"qwen2_moe", "Qwen2Tokenizer"},  {"qwen3", "Qwen2Tokenizer"},         {"qwen3_moe", "Qwen2Tokenizer"},
      {"qwen3_5", "Qwen3_5Tokenizer"},  {"code_llama", "CodeLlamaTokenizer"}};
  const Json& type = field_of(model_config, "model_type");
  const auto of_model = type.is_string() ? of_models.find(type.get<std::string>()) : of_models.end();
  std::string own = slow_name(field_of(config_, "tokenizer_class"));
  if (own.empty()) own = slow_name(field_of(model_config, "tokenizer_class"));
  if (of_model == of_models.end() || own == of_model->second) return class_of(own);
  if (own.empty()) return class_of(of_model->second);
  if (!field_of(config_, "auto_map").is_null()) return class_of(own);
  if (of_model->second == "TokenizersBackend") return Class::kNone;
  // transformers takes the class that a folder of Qwen2 names for a mistake where it is another one.
  return class_of(type == "qwen2" ? of_model->second : own);
}

FolderTokens::Named FolderTokens::named(const Json& value, const std::string& where) const {
  if (value.is_string()) return {{.id = -1, .name = value.get<std::string>(), .special = true}, true, false};
  return {read_added_token(value, where), false, false};
}

void FolderTokens::take_listed(const Files& files, const std::string& dir,
                               const std::vector<AddedToken>& json_tokens) {
  if (config_.contains("added_tokens_decoder")) {
    const Json& decoder = config_["added_tokens_decoder"];
    if (!decoder.is_object()) throw ConfigError("{}: added_tokens_decoder is not an object", where_);
    for (const auto& [key, token] : decoder.items())
      listed_[listed_id(key, where_)] = read_added_token(token, where_ + ": added_tokens_decoder");
    return;
  }
  take_map(parsed(files, "special_tokens_map.json", dir), fmt::format("{}/special_tokens_map.json", dir));
  take_added(parsed(files, "added_tokens.json", dir), fmt::format("{}/added_tokens.json", dir));
  for (const AddedToken& token : json_tokens) listed_[token.id] = token;
}

// What special_tokens_map.json says of a name goes before what tokenizer_config.json says.
void FolderTokens::take_map(const Json& map, const std::string& where) {
  for (const auto& [key, value] : map.items()) {
    if (key == kAdditional && config_.contains(kExtra)) continue;
    if (value.is_object() && key != kExtra) {
      Json token = value;
      token["special"] = true;
      read_added_token(token, fmt::format("{}: {}", where, printable(key)));
      config_[key] = std::move(token);
    } else {
      config_[key] = value;
    }
  }
  if (config_.contains(kAdditional) && !config_.contains(kExtra)) config_[kExtra] = config_[kAdditional];
}

bool FolderTokens::is_flagged(const std::string& name) const {
  const auto is = [&](const Json& value) { return value == name || field_of(value, "content") == name; };
  const Json& extra = field_of(config_, kExtra);
  return std::ranges::any_of(kNames, [&](const char* key) { return is(field_of(config_, key)); }) ||
         (extra.is_array() && std::ranges::any_of(extra, is));
}

void FolderTokens::take_added(const Json& json, const std::string& where) {
  for (const auto& [name, value] : json.items()) {
    const int64_t id = whole_number(value).value_or(-1);
    if (id < 0 || id >= kMostIds)
      throw ConfigError("{}: '{}' has the id {}: must be 0 to {}", where, printable(name), shown(value),
                        kMostIds - 1);
    const bool special = is_flagged(name);
    listed_[id] = {.id = id, .name = name, .special = special, .normalized = !special};
  }
}

void FolderTokens::take_names(const std::string& where) {
  const auto listed = [&](Named token) {
    const auto found =
        std::ranges::find(listed_, token.token.name, [](const auto& entry) { return entry.second.name; });
    return found == listed_.end() ? token : Named{found->second, false, false};
  };
  for (const char* key : kNames)
    if (const Json& value = field_of(config_, key); !value.is_null() && value != "")
      names_.push_back(listed(named(value, fmt::format("{}: {}", where, key))));
  // Other tokens with a name of their own, such as image_token.
  for (const auto& [key, value] : config_.items())
    if (key.ends_with("_token") && value.is_string() && value != "" &&
        std::ranges::find(kNames, key) == std::end(kNames))
      names_.push_back(named(value, where));
  const Json& extra = field_of(config_, kExtra);
  if (!extra.is_null() && !extra.is_array() && !extra.is_object())
    throw ConfigError("{}: {} is {}: must be a list of tokens", where, kExtra, shown(extra));
  if (!extra.is_null())
    for (const Json& value : extra)
      if (value != "") {
        names_.push_back(named(value, fmt::format("{}: {}", where, kExtra)));
        names_.back().extra = extra.is_array();
      }
}

bool FolderTokens::rebuilds(bool bytes) const {
  switch (class_) {
    case Class::kNone:
      return false;
    case Class::kLlama:
    case Class::kCodeLlama:
      return !bytes;
    default:
      return bytes;
  }
}

bool FolderTokens::composes() const { return class_ == Class::kQwen2 || class_ == Class::kQwen35; }

std::optional<std::string_view> FolderTokens::pattern() const {
  if (class_ == Class::kQwen2) return TextSplitter::qwen2_pattern();
  if (class_ == Class::kQwen35) return TextSplitter::qwen35_pattern();
  return std::nullopt;
}

bool FolderTokens::add_prefix_space() const { return field_of(config_, "add_prefix_space") == true; }

PrependScheme FolderTokens::prepend_scheme() const {
  if (field_of(config_, "add_prefix_space") == false) return PrependScheme::kNever;
  const bool always = class_ != Class::kCodeLlama && field_of(config_, "legacy") == true;
  return always ? PrependScheme::kAlways : PrependScheme::kFirst;
}

const Json& FolderTokens::unknown_token() const {
  static const Json unknown = "<unk>", none;
  return class_ == Class::kCodeLlama ? unknown : none;
}

// The names that a class takes where a folder says nothing of them.
std::vector<FolderTokens::Named> FolderTokens::names_with_defaults() const {
  std::vector<Named> names = names_;
  const auto take = [&](std::initializer_list<const char*> keys, const char* name) {
    for (const char* key : keys)
      if (!config_.contains(key)) names.push_back({{.id = -1, .name = name, .special = true}, true, false});
  };
  if (class_ == Class::kLlama || class_ == Class::kCodeLlama)
    take({"unk_token"}, "<unk>"), take({"bos_token"}, "<s>"), take({"eos_token"}, "</s>");
  if (class_ == Class::kCodeLlama)
    take({"prefix_token"}, "\u2581<PRE>"), take({"middle_token"}, "\u2581<MID>"),
        take({"suffix_token"}, "\u2581<SUF>"), take({"eot_token"}, "\u2581<EOT>"),
        take({"fill_token"}, "<FILL_ME>");
  if (class_ == Class::kGpt2) take({"unk_token", "bos_token", "eos_token"}, "<|endoftext|>");
  if (class_ == Class::kQwen2 || class_ == Class::kQwen35)
    take({"unk_token", "eos_token", "pad_token"}, "<|endoftext|>");
  return names;
}

void FolderTokens::add_to(AddedTokens& tokens, bool rebuilt) const {
  const std::vector<Named> names = rebuilt ? names_with_defaults() : names_;
  std::vector<AddedToken> due;
  for (const auto& [id, token] : listed_) due.push_back(token);
  const size_t listed = due.size();
  const auto is_listed = [&](const std::string& name) {
    const std::span first(due.data(), listed);
    return std::ranges::find(first, name, &AddedToken::name) != first.end();
  };
  for (const Named& named : names)
    if (!tokens.find(named.token.name) && !tokens.is_new(named.token.name) && !is_listed(named.token.name))
      due.push_back(named.token);
  for (AddedToken& token : due) {
    const auto names_it = [&](const Named& n) { return !n.extra && n.token.name == token.name; };
    token.special = token.special || std::ranges::any_of(names, names_it);
    tokens.add(token);
  }
  if (class_ != Class::kQwen2 || !rebuilt) return;
  // Qwen2's class adds them once more, by their names alone.
  for (const Named& named : names)
    if (tokens.find(named.token.name)) tokens.add({.id = -1, .name = named.token.name, .special = true});
}

}  // namespace temper::policy
