#include "policy/hugging_face/serving.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/input/json.h"
#include "policy/chat/chat_format.h"
#include "policy/chat/chat_template_write.h"
#include "policy/hugging_face/json_edit.h"

namespace temper::policy {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char *kEos = "eos_token", *kEosId = "eos_token_id",
                     *kTokenizerConfig = "tokenizer_config.json";

std::optional<int32_t> first_known(const Tokenizer& tokenizer, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto id = tokenizer.find_special(name)) return id;
  return std::nullopt;
}

OrderedJson eos_json(const std::vector<int32_t>& ids) {
  return ids.size() == 1 ? OrderedJson(ids[0]) : OrderedJson(ids);
}

bool names(const std::vector<int32_t>& ids, int32_t id) { return std::ranges::count(ids, id) > 0; }

// The stops of the format; empty where it is not known of a model that is only copied.
std::vector<int32_t> stops_of(const Tokenizer& tokenizer, bool taught) try {
  const ChatFormat format(tokenizer);
  return {format.own_stop_ids().begin(), format.own_stop_ids().end()};
} catch (const ConfigError&) {
  if (taught) throw;
  return {};
}

// Whether the turn's stop must be put first, where it is not named at all.
bool must_name_stop(const Origin& origin, const std::vector<int32_t>& stops, bool taught) {
  if (stops.empty()) return false;
  if (taught) return true;
  const std::vector<int32_t> read = origin.generation_end.empty() ? origin.end : origin.generation_end;
  return std::ranges::none_of(stops, [&](int32_t id) { return names(read, id); });
}

std::vector<int32_t> with_stop(const std::vector<int32_t>& ids, const std::vector<int32_t>& stops) {
  if (ids.empty()) return stops;
  if (names(ids, stops.front())) return ids;
  std::vector<int32_t> all = {stops.front()};
  all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

EndTokens tokens_of(const Tokenizer& tokenizer, const Origin& origin, const std::vector<int32_t>& stops,
                    bool must_name) {
  EndTokens tokens;
  tokens.begin = origin.begin ? origin.begin : first_known(tokenizer, {"<|begin_of_text|>", "<s>"});
  tokens.end = must_name || origin.end.empty() ? with_stop(origin.end, stops) : origin.end;
  tokens.pad = origin.pad;
  if (!tokens.pad)
    tokens.pad = first_known(tokenizer, {"<|endoftext|>", "<|finetune_right_pad_id|>", "<pad>"});
  if (!tokens.pad && !tokens.end.empty()) tokens.pad = tokens.end[0];
  return tokens;
}

std::string generation_of(const Origin& origin, const EndTokens& tokens, const std::vector<int32_t>& stops,
                          bool must_name) {
  if (origin.generation_config.empty()) {
    OrderedJson made = {{kEosId, eos_json(tokens.end)}, {"do_sample", true}};
    if (tokens.pad) made["pad_token_id"] = *tokens.pad;
    return made.dump(2) + "\n";
  }
  if (!must_name || names(origin.generation_end, stops.front())) return origin.generation_config;
  const std::vector<int32_t> ids =
      origin.generation_end.empty() ? tokens.end : with_stop(origin.generation_end, stops);
  return with_json_value(origin.generation_config, kEosId, eos_json(ids).dump());
}

// The file with the name as eos_token's value, or as the content of the object that is its value.
std::string with_eos(const std::string& file, const std::string& name) {
  const std::string value = json_value_text(file, kEos), text = OrderedJson(name).dump();
  const bool object = value.starts_with('{');
  if ((object ? json_value_text(value, "content") : value) == text) return file;
  return with_json_value(file, kEos, object ? with_json_value(value, "content", text) : text);
}

// With another eos_token it would render another text.
bool template_names_eos(const std::map<std::string, std::string>& files) {
  const auto there = find_chat_template(files);
  return there && there->text.find(kEos) != std::string::npos;
}

void set_eos(std::map<std::string, std::string>& files, const std::string& name) {
  files.try_emplace(kTokenizerConfig, "{}\n");
  for (const char* file : {kTokenizerConfig, "special_tokens_map.json"}) {
    const auto found = files.find(file);
    if (found == files.end()) continue;
    parse_json_object(found->second, file);
    found->second = with_eos(found->second, name);
  }
}

// Whether the folder's own template, if there is one, does not say how the model writes its turns: a format was named
// in its place.
bool must_write_template(const std::map<std::string, std::string>& files, const ChatLayout& layout) {
  if (!layout.source.empty()) return false;
  const auto there = find_chat_template(files);
  if (!there) return true;
  const ChatLayout* const own = own_layout(*there);
  return there->text != chat_template_text(layout) && (!own || own->name != layout.name);
}

// transformers 5 reads the file, those before 4.43 the key.
void set_template(std::map<std::string, std::string>& files, const std::string& text) {
  files["chat_template.jinja"] = text;
  const auto config = files.try_emplace(kTokenizerConfig, "{}\n").first;
  parse_json_object(config->second, kTokenizerConfig);
  config->second = with_json_value(config->second, "chat_template", OrderedJson(text).dump());
}

}  // namespace

Served served(const Tokenizer& tokenizer, const ExportOptions& options) {
  const Origin& origin = options.origin;
  const std::vector<int32_t> stops = stops_of(tokenizer, options.taught);
  const bool must_name = must_name_stop(origin, stops, options.taught);
  Served all;
  all.tokens = tokens_of(tokenizer, origin, stops, must_name);
  all.generation_config = generation_of(origin, all.tokens, stops, must_name);
  all.tokenizer = tokenizer.files();
  if (options.taught) {
    const ChatFormat format(tokenizer);
    if (must_write_template(all.tokenizer, format.layout()))
      set_template(all.tokenizer, chat_template_text(format.layout()));
  }
  if (must_name && !template_names_eos(all.tokenizer))
    set_eos(all.tokenizer, tokenizer.token_text(stops.front()));
  return all;
}

}  // namespace temper::policy
