#include "policy/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "policy/text/byte_level_json.h"
#include "policy/text/sentence_pieces.h"
#include "policy/tokenizer_files.h"

namespace temper {
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
constexpr uintmax_t kMaxFileBytes = uintmax_t(256) << 20;

Files read_files(const fs::path& dir) {
  Files files;
  for (const char* name : kFiles) {
    std::error_code error;
    if (!fs::is_regular_file(dir / name, error)) continue;
    if (const auto size = fs::file_size(dir / name, error); error || size > kMaxFileBytes)
      throw ConfigError("{}: {} bytes are more than a tokenizer has, {}", (dir / name).string(), size,
                        kMaxFileBytes);
    files[name] = read_file(dir / name);
  }
  return files;
}

// Tokens that were added behind a sentencepiece model's pieces.
std::vector<AddedToken> tokens_behind(const Files& files, int64_t pieces, const std::string& dir) {
  std::map<int64_t, AddedToken> added;
  if (const auto file = files.find("added_tokens.json"); file != files.end()) {
    const Json json = Json::parse(file->second, nullptr, false);
    if (!json.is_object()) throw ConfigError("{}/added_tokens.json: is not a JSON object", dir);
    for (const auto& [name, id] : json.items()) {
      if (!id.is_number_integer())
        throw ConfigError("{}/added_tokens.json: '{:.80}' has no integer id", dir, name);
      added[id.get<int64_t>()] = {id.get<int64_t>(), name, false};
    }
  }
  if (const auto file = files.find("tokenizer_config.json"); file != files.end()) {
    const Json json = Json::parse(file->second, nullptr, false);
    if (!json.is_object()) throw ConfigError("{}/tokenizer_config.json: is not a JSON object", dir);
    const Json decoder = json.value("added_tokens_decoder", Json::object());
    if (!decoder.is_object())
      throw ConfigError("{}/tokenizer_config.json: added_tokens_decoder is not an object", dir);
    for (const auto& [key, token] : decoder.items()) {
      int64_t id = -1;
      std::from_chars(key.data(), key.data() + key.size(), id);
      if (id < 0 || !token.is_object() || !token.contains("content") || !token["content"].is_string())
        throw ConfigError(
            "{}/tokenizer_config.json: added_tokens_decoder: '{:.80}' is not an id with a content", dir, key);
      added[id] = {id, token["content"].get<std::string>(), token.value("special", Json(false)) == true};
    }
  }
  std::vector<AddedToken> behind;
  for (const auto& [id, token] : added)
    if (id >= pieces) behind.push_back(token);
  return behind;
}

// Llama 3 ships its ranks as tokenizer.model, beside a tokenizer.json that says the same.
bool json_is_the_truth(const Files& files) {
  const auto model = files.find("tokenizer.model"), json = files.find("tokenizer.json");
  if (json == files.end() || model == files.end()) return model == files.end();
  if (is_sentencepiece_model(model->second)) return false;
  const Json parsed = Json::parse(json->second, nullptr, false);
  return parsed.is_object() && parsed.value("decoder", Json()).is_object() &&
         parsed["decoder"].value("type", Json()) == "ByteLevel";
}

TokenizerParts read_parts(const Files& files, const fs::path& dir) {
  const std::string model = (dir / "tokenizer.model").string(), json = (dir / "tokenizer.json").string();
  if (!files.contains("tokenizer.model") && !files.contains("tokenizer.json"))
    throw ConfigError("{}: no such file, nor a tokenizer.json; a tokenizer is needed", model);
  if (json_is_the_truth(files)) return read_byte_level_json(files.at("tokenizer.json"), json);
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
  auto impl = std::make_unique<Impl>(read_parts(files, dir), std::move(files));
  return Tokenizer(std::move(impl));
}

Tokenizer Tokenizer::train(const std::vector<std::string>& texts, int64_t vocab_size) {
  std::string model = train_model(texts, vocab_size);
  SentencePieces read = read_sentence_pieces(model, "the trained tokenizer");
  Files files = hugging_face_tokenizer_files(read.pieces);
  files["tokenizer.model"] = std::move(model);
  return Tokenizer(std::make_unique<Impl>(std::move(read.parts), std::move(files)));
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

}  // namespace temper
