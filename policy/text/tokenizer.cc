#include "policy/text/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/file.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "policy/model_config.h"
#include "policy/text/byte_level_json.h"
#include "policy/text/piece_model.h"
#include "policy/text/sentence_pieces.h"
#include "policy/text/tokenizer_files.h"

namespace temper::policy {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Files = std::map<std::string, std::string>;

// All files by which transformers describes a tokenizer.
constexpr const char* kFiles[] = {"tokenizer.model",
                                  "tokenizer.json",
                                  "tokenizer_config.json",
                                  "special_tokens_map.json",
                                  "added_tokens.json",
                                  "vocab.json",
                                  "merges.txt",
                                  "chat_template.jinja"};
constexpr uint64_t kMaxFileBytes = 48 << 20;  // the largest of a published tokenizer have 33 MB
constexpr int64_t kMaxTokens = 1 << 24;

Files read_files(const fs::path& dir) {
  Files files;
  for (const char* name : kFiles) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(dir / name, error)))
      files[name] = read_input_file(dir / name, kMaxFileBytes);
  }
  return files;
}

void take_added(const std::string& text, const std::string& where, std::map<int64_t, AddedToken>& added) {
  const Json json = parse_json_object(text, where);
  for (const auto& [name, value] : json.items()) {
    const int64_t id = whole_number(value).value_or(-1);
    if (id < 0 || id >= kMaxTokens)
      throw ConfigError("{}: '{}' has the id {}: must be 0 to {}", where, printable(name), shown(value),
                        kMaxTokens - 1);
    added[id] = {id, name, false};
  }
}

// {"added_tokens_decoder": {"32000": {"content": "<|im_end|>", "special": true}}}
void take_added_decoder(const std::string& text, const std::string& where,
                        std::map<int64_t, AddedToken>& added) {
  const Json json = parse_json_object(text, where);
  const Json decoder = json.value("added_tokens_decoder", Json::object());
  if (!decoder.is_object()) throw ConfigError("{}: added_tokens_decoder is not an object", where);
  for (const auto& [key, token] : decoder.items()) {
    int64_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool number = error == std::errc() && end == key.data() + key.size() && id >= 0 && id < kMaxTokens;
    if (!number || !token.is_object() || !token.contains("content") || !token["content"].is_string())
      throw ConfigError("{}: added_tokens_decoder: '{}' is not an id with a content", where, printable(key));
    added[id] = {id, token["content"].get<std::string>(), token.value("special", Json(false)) == true};
  }
}

// Tokens that were added behind a sentencepiece model's pieces.
std::vector<AddedToken> tokens_behind(const Files& files, int64_t pieces, const std::string& dir) {
  std::map<int64_t, AddedToken> added;
  for (const auto& [name, take] :
       {std::pair("added_tokens.json", &take_added), std::pair("tokenizer_config.json", &take_added_decoder)})
    if (const auto file = files.find(name); file != files.end())
      take(file->second, fmt::format("{}/{}", dir, name), added);
  std::vector<AddedToken> behind;
  for (const auto& [id, token] : added)
    if (id >= pieces) behind.push_back(token);
  return behind;
}

// Llama 3 ships its ranks as tokenizer.model, beside a tokenizer.json that says the same.
bool json_is_the_truth(const Files& files, const std::string& json_path) {
  const auto model = files.find("tokenizer.model"), json = files.find("tokenizer.json");
  if (json == files.end() || model == files.end()) return model == files.end();
  return !is_piece_model(model->second) && is_byte_level_json(json->second, json_path);
}

TokenizerParts read_parts(const Files& files, const fs::path& dir) {
  const std::string model = (dir / "tokenizer.model").string(), json = (dir / "tokenizer.json").string();
  if (const std::string advice = hub_advice(dir); !advice.empty()) throw ConfigError("{}", advice);
  if (!files.contains("tokenizer.model") && !files.contains("tokenizer.json"))
    throw ConfigError("{}: no such file, nor a tokenizer.json; a tokenizer is needed", model);
  if (json_is_the_truth(files, json)) return read_byte_level_json(files.at("tokenizer.json"), json);
  TokenizerParts parts = read_sentence_pieces(files.at("tokenizer.model"), model).parts;
  add_tokens(parts, tokens_behind(files, std::ssize(parts.texts), dir.string()), dir.string());
  return parts;
}

}  // namespace

struct Tokenizer::Impl {
  TokenizerParts parts;
  Files files;
  std::vector<const std::string*> special_names;  // by id; null: not special
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->special_names.resize(impl_->parts.texts.size());
  for (const auto& [name, token] : impl_->parts.added)
    if (token.special) impl_->special_names[size_t(token.id)] = &name;
}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const fs::path& dir) {
  Files files = read_files(dir);
  TokenizerParts parts = read_parts(files, dir);
  return Tokenizer(std::unique_ptr<Impl>(new Impl{std::move(parts), std::move(files), {}}));
}

Tokenizer Tokenizer::train(const std::vector<std::string>& texts, int64_t vocab_size) {
  std::string model = train_model(texts, vocab_size);
  SentencePieces read = read_sentence_pieces(model, "the trained tokenizer");
  Files files = hugging_face_tokenizer_files(read.pieces);
  files["tokenizer.model"] = std::move(model);
  return Tokenizer(std::unique_ptr<Impl>(new Impl{std::move(read.parts), std::move(files), {}}));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  impl_->parts.encoder->encode(text, false, ids);
  return ids;
}

std::vector<int32_t> Tokenizer::encode_start(std::string_view text) const {
  std::vector<int32_t> ids;
  impl_->parts.encoder->encode(text, true, ids);
  return ids;
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids) const {
  std::string text;
  for (int32_t id : ids) {
    TEMPER_CHECK(id >= 0 && id < vocab_size(), "id {} of {}", id, vocab_size());
    text += impl_->parts.texts[size_t(id)];
  }
  return text;
}

std::string Tokenizer::token_text(int32_t id) const {
  return is_special(id) ? *impl_->special_names[size_t(id)] : decode({id});
}

std::optional<int32_t> Tokenizer::find_special(std::string_view name) const {
  const auto found = impl_->parts.added.find(name);
  if (found == impl_->parts.added.end()) return std::nullopt;
  return int32_t(found->second.id);
}

int32_t Tokenizer::special(std::string_view name) const {
  const auto found = find_special(name);
  TEMPER_CHECK(found, "no special token {}", name);
  return *found;
}

bool Tokenizer::is_special(int32_t id) const {
  TEMPER_CHECK(id >= 0 && id < vocab_size(), "id {} of {}", id, vocab_size());
  return impl_->special_names[size_t(id)] != nullptr;
}

int64_t Tokenizer::vocab_size() const { return std::ssize(impl_->parts.texts); }

const Files& Tokenizer::files() const { return impl_->files; }

void Tokenizer::save(const fs::path& dir) const {
  fs::create_directories(dir);
  for (const auto& [name, content] : impl_->files) write_file_atomic(dir / name, content);
}

}  // namespace temper::policy
