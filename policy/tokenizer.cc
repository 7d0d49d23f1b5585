#include "policy/tokenizer.h"

#include <sentencepiece_processor.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "base/files.h"
#include "policy/tokenizer_files.h"

namespace temper {
namespace {

// sentencepiece writes a space as U+2581, so a real U+2581 has to go around it.
constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// "<0x41>" → "A".
char byte_of(const std::string& piece) {
  int value = -1;
  if (piece.size() == 6) std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
  TEMPER_CHECK(value >= 0, "byte piece {}", piece);
  return char(value);
}

std::string with_spaces(std::string_view piece) {
  std::string text;
  for (size_t mark; (mark = piece.find(kSpaceMark)) != std::string_view::npos;) {
    text.append(piece.substr(0, mark)).push_back(' ');
    piece.remove_prefix(mark + kSpaceMark.size());
  }
  return text.append(piece);
}

// Bytes at the front of `text` that sentencepiece encodes exactly: valid UTF-8 without U+2581.
size_t plain_prefix(std::string_view text) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  size_t n = 0;
  while (n < text.size()) {
    utf8proc_int32_t point = 0;
    const auto used = utf8proc_iterate(bytes + n, utf8proc_ssize_t(text.size() - n), &point);
    if (used <= 0 || point == 0x2581) break;
    n += size_t(used);
  }
  return n;
}

}  // namespace

struct Tokenizer::Impl {
  sentencepiece::SentencePieceProcessor processor;
  std::string model;               // serialized
  std::vector<std::string> texts;  // what each id decodes to; empty for special tokens
  std::array<int32_t, 256> byte_ids;
  std::unordered_map<std::string, int32_t> specials;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::from_model(std::string model, const std::string& origin) {
  auto impl = std::make_unique<Impl>();
  const auto status = impl->processor.LoadFromSerializedProto(model);
  if (!status.ok()) throw ConfigError("{}: not a sentencepiece model: {}", origin, status.ToString());
  impl->model = std::move(model);
  impl->byte_ids.fill(-1);
  const auto& processor = impl->processor;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    const std::string& piece = processor.IdToPiece(id);
    const bool special = processor.IsControl(id) || processor.IsUnknown(id);
    if (special) impl->specials[piece] = id;
    if (processor.IsByte(id)) impl->byte_ids[uint8_t(byte_of(piece))] = id;
    impl->texts.push_back(special                ? ""
                          : processor.IsByte(id) ? std::string(1, byte_of(piece))
                                                 : with_spaces(piece));
  }
  if (std::count(impl->byte_ids.begin(), impl->byte_ids.end(), -1) > 0) {
    throw ConfigError("{}: has no byte fallback (a piece for each of the 256 bytes), which exact text needs",
                      origin);
  }
  for (const char* name : kSpecialTokens) {
    if (!impl->specials.contains(name)) throw ConfigError("{}: has no control token {}", origin, name);
  }
  Tokenizer tokenizer(std::move(impl));
  const std::string probe = "  a\tb \n\n c\xC2\xB5 ";
  if (tokenizer.decode(tokenizer.encode(probe)) != probe) {
    throw ConfigError(
        "{}: changes white space or characters (normalisation or a dummy prefix); "
        "train with normalization identity, add_dummy_prefix off, remove_extra_whitespaces off",
        origin);
  }
  return tokenizer;
}

Tokenizer Tokenizer::load(const std::filesystem::path& dir) {
  const auto path = dir / "tokenizer.model";
  if (!std::filesystem::exists(path))
    throw ConfigError("{}: no such file; a tokenizer is needed", path.string());
  return from_model(read_file(path), path.string());
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  std::vector<int> part;
  while (!text.empty()) {
    const size_t plain = plain_prefix(text);
    if (plain > 0) {
      const auto status = impl_->processor.Encode({text.data(), plain}, &part);
      TEMPER_CHECK(status.ok(), "{}", status.ToString());
      ids.insert(ids.end(), part.begin(), part.end());
      text.remove_prefix(plain);
      continue;
    }
    const size_t raw = text.starts_with(kSpaceMark) ? kSpaceMark.size() : 1;
    for (char c : text.substr(0, raw)) ids.push_back(impl_->byte_ids[uint8_t(c)]);
    text.remove_prefix(raw);
  }
  return ids;
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids) const {
  std::string text;
  for (int32_t id : ids) {
    TEMPER_CHECK(id >= 0 && id < vocab_size(), "id {} of {}", id, vocab_size());
    text += impl_->texts[size_t(id)];
  }
  return text;
}

std::string Tokenizer::token_text(int32_t id) const {
  return is_special(id) ? impl_->processor.IdToPiece(id) : decode({id});
}

int32_t Tokenizer::special(std::string_view name) const {
  const auto found = impl_->specials.find(std::string(name));
  TEMPER_CHECK(found != impl_->specials.end(), "no special token {}", name);
  return found->second;
}

bool Tokenizer::is_special(int32_t id) const {
  TEMPER_CHECK(id >= 0 && id < vocab_size(), "id {} of {}", id, vocab_size());
  return impl_->processor.IsControl(id) || impl_->processor.IsUnknown(id);
}

int64_t Tokenizer::vocab_size() const { return int64_t(impl_->texts.size()); }

Tokenizer Tokenizer::train(const std::vector<std::string>& texts, int64_t vocab_size) {
  return from_model(train_model(texts, vocab_size), "the trained tokenizer");
}

void Tokenizer::save(const std::filesystem::path& dir) const {
  std::filesystem::create_directories(dir);
  write_file_atomic(dir / "tokenizer.model", impl_->model);
  std::vector<Piece> pieces;
  for (int id = 0; id < int(vocab_size()); ++id) {
    const bool byte = impl_->processor.IsByte(id), named = is_special(id) || byte;
    pieces.push_back({named ? impl_->processor.IdToPiece(id) : impl_->texts[size_t(id)],
                      impl_->processor.GetScore(id), is_special(id), byte});
  }
  write_hugging_face_tokenizer(dir, pieces);
}

}  // namespace temper
