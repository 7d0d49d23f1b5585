#include "policy/text/tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/file.h"
#include "base/input/json.h"
#include "policy/model_config.h"
#include "policy/text/additional_templates.h"
#include "policy/text/bpe_json.h"
#include "policy/text/named_tokens.h"
#include "policy/text/piece_model.h"
#include "policy/text/pieces/added_names.h"
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
// They describe the model, and say of the tokenizer what ends an answer, and which class it has.
constexpr const char* kModelFiles[] = {"config.json", "generation_config.json"};
constexpr uint64_t kMaxFileBytes = 48 << 20;  // the largest of a published tokenizer have 33 MB

Files read_files(const fs::path& dir) {
  Files files;
  const auto read = [&](const char* name) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(dir / name, error)))
      files[name] = read_input_file(dir / name, kMaxFileBytes);
  };
  for (const char* name : kFiles) read(name);
  for (const char* name : kModelFiles) read(name);
  take_additional_templates(dir, kMaxFileBytes, files);
  return files;
}

// What Git keeps in place of a large file until somebody asks for the file itself.
void refuse_pointer(const std::string& content, const fs::path& file) {
  if (content.starts_with("version https://git-lfs"))
    throw ConfigError("{}: is a pointer of Git LFS, not the file itself: run git lfs pull in its folder",
                      file.string());
}

// The content of one of these; an empty object where there is none.
Json object_of(const Files& files, const char* name, const fs::path& dir) {
  const auto file = files.find(name);
  return file == files.end() ? Json::object() : parse_json_object(file->second, (dir / name).string());
}

TokenizerParts read_parts(const Files& files, const fs::path& dir) {
  const std::string model = (dir / "tokenizer.model").string(), json = (dir / "tokenizer.json").string();
  const auto model_file = files.find("tokenizer.model"), json_file = files.find("tokenizer.json");
  if (model_file == files.end() && json_file == files.end())
    throw ConfigError("{}: no such file, nor a tokenizer.json; a tokenizer is needed", model);
  for (const auto& [name, content] : files)
    if (name.ends_with("json") || name.ends_with("jinja")) refuse_pointer(content, dir / name);
  std::optional<BpeJson> bpe;
  if (json_file != files.end()) bpe.emplace(json_file->second, json);
  // Llama 3 ships its ranks as tokenizer.model, beside a tokenizer.json that says the same.
  if (bpe && model_file != files.end() && !bpe->is_bpe()) bpe.reset();
  if (!bpe) refuse_pointer(model_file->second, model);
  const FolderTokens folder(files, dir.string(), object_of(files, "config.json", dir),
                            bpe ? bpe->added_tokens() : std::vector<AddedToken>());
  return bpe ? bpe->read(folder) : read_sentence_pieces(model_file->second, model, &folder).parts;
}

// Any of these ends an answer, for transformers' generate() too. Ids that the tokenizer lacks nobody can draw.
std::vector<int32_t> end_ids(const Files& files, const fs::path& dir, const Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  const auto take = [&](const Json& value) {
    const int64_t id = whole_number(value).value_or(-1);
    if (id >= 0 && id < tokenizer.vocab_size()) ids.push_back(int32_t(id));
  };
  for (const char* name : {"generation_config.json", "config.json"}) {
    const Json eos = object_of(files, name, dir).value("eos_token_id", Json());
    for (const Json& one : eos.is_array() ? eos : Json::array({eos})) take(one);
  }
  const auto names = named_tokens(token_settings(files));
  const auto eos = names.find("eos_token");
  if (const auto id = eos != names.end() ? tokenizer.find_special(eos->second) : std::nullopt)
    ids.push_back(*id);
  return ids;
}

}  // namespace

struct Tokenizer::Impl {
  TokenizerParts parts;
  Files files;
  AddedNames names;
  std::vector<int32_t> ends = {};

  Impl(TokenizerParts read, Files of) : parts(std::move(read)), files(std::move(of)), names(parts) {}
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const fs::path& dir) {
  if (const std::string advice = hub_advice(dir); !advice.empty()) throw ConfigError("{}", advice);
  return read(read_files(dir), dir);
}

Tokenizer Tokenizer::read(const Files& files, const fs::path& dir) {
  TokenizerParts parts = read_parts(files, dir);
  Files own = files;
  for (const char* name : kModelFiles) own.erase(name);
  Tokenizer tokenizer(std::make_unique<Impl>(std::move(parts), std::move(own)));
  tokenizer.mark_ends(end_ids(files, dir, tokenizer));
  return tokenizer;
}

Tokenizer Tokenizer::train(const std::vector<std::string>& texts, int64_t vocab_size) {
  std::string model = train_model(texts, vocab_size);
  SentencePieces read = read_sentence_pieces(model, "the trained tokenizer");
  Files files = hugging_face_tokenizer_files(read.pieces);
  files["tokenizer.model"] = std::move(model);
  return Tokenizer(std::make_unique<Impl>(std::move(read.parts), std::move(files)));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  const TextRange whole{0, text.size()};
  return impl_->names.encode(text, {&whole, 1}, {.first = false, .joined = true});
}

std::vector<int32_t> Tokenizer::encode_start(std::string_view text) const {
  const TextRange whole{0, text.size()};
  return impl_->names.encode(text, {&whole, 1}, {.first = true, .joined = false});
}

std::vector<int32_t> Tokenizer::encode_written(std::string_view text, std::span<const TextRange> contents,
                                               bool starts) const {
  return impl_->names.encode(text, contents, {.first = starts, .joined = !starts});
}

int64_t Tokenizer::count_control_names(std::string_view content) const {
  return impl_->names.count_control(content);
}

int64_t Tokenizer::lost_bytes() const { return impl_->parts.encoder->lost_bytes(); }

void Tokenizer::mark_control(const std::vector<int32_t>& ids) {
  for (const int32_t id : ids) {
    TEMPER_CHECK(id >= 0 && id < vocab_size(), "id {} of {}", id, vocab_size());
    impl_->names.mark_control(id);
  }
}

void Tokenizer::mark_ends(const std::vector<int32_t>& ids) {
  mark_control(ids);
  for (const int32_t id : ids) {
    // An ordinary piece may end an answer, too, where a model's maker says so. In texts it stays a piece.
    if (impl_->parts.added.contains(id)) impl_->names.mark_end(id);
    if (std::ranges::count(impl_->ends, id) == 0) impl_->ends.push_back(id);
  }
}

const std::vector<int32_t>& Tokenizer::ends() const { return impl_->ends; }

std::vector<std::string> Tokenizer::added_names() const {
  std::vector<std::string> names;
  for (const auto& [id, token] : impl_->parts.added) names.push_back(token.name);
  return names;
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids) const {
  std::string text;
  for (int32_t id : ids)
    if (!is_special(id)) text += impl_->parts.texts[size_t(id)];
  return text;
}

std::string Tokenizer::token_text(int32_t id) const {
  TEMPER_CHECK(id >= 0 && id < vocab_size(), "id {} of {}", id, vocab_size());
  const auto added = impl_->parts.added.find(id);
  return added != impl_->parts.added.end() ? added->second.name : impl_->parts.texts[size_t(id)];
}

std::optional<int32_t> Tokenizer::find_special(std::string_view name) const {
  return impl_->names.find(name);
}

int32_t Tokenizer::special(std::string_view name) const {
  const auto found = find_special(name);
  TEMPER_CHECK(found, "no special token {}", name);
  return *found;
}

bool Tokenizer::is_special(int32_t id) const {
  TEMPER_CHECK(id >= 0 && id < vocab_size(), "id {} of {}", id, vocab_size());
  return impl_->names.is_silent(id);
}

const std::string& Tokenizer::kind() const { return impl_->parts.kind; }

int64_t Tokenizer::vocab_size() const { return std::ssize(impl_->parts.texts); }

const std::vector<std::string>& Tokenizer::remarks() const { return impl_->parts.remarks; }

const Files& Tokenizer::files() const { return impl_->files; }

void Tokenizer::save(const fs::path& dir) const {
  fs::create_directories(dir);
  for (const auto& [name, content] : impl_->files) write_file_atomic(dir / name, content);
}

}  // namespace temper::policy
