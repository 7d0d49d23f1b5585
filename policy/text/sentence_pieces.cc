#include "policy/text/sentence_pieces.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <protozero/pbf_writer.hpp>

#include "base/error.h"
#include "base/input/printable.h"
#include "policy/text/piece_model.h"
#include "policy/text/pieces/neighbours.h"
#include "policy/text/pieces/piece_cache.h"

namespace temper::policy {
namespace {

// sentencepiece writes a space as U+2581, so a real U+2581 has to go around it.
constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// With a further normaliser's specification that wants no dummy prefix: a parser of protocol buffers merges
// it into the first.
std::string without_dummy_prefix(std::string model) {
  protozero::pbf_writer fields(model);
  protozero::pbf_writer(fields, piece_model::kNormalizerSpec).add_bool(piece_model::kDummyPrefix, false);
  return model;
}

using Processor = sentencepiece::SentencePieceProcessor;

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

class PieceEncoder : public TextEncoder {
 public:
  PieceEncoder(const std::string& model, const std::string& origin, PrependScheme scheme)
      : origin_(origin), scheme_(scheme) {
    load(without_dummy_prefix(model), origin, processor_);
    byte_ids_.fill(-1);
    for (int id = 0; id < processor_.GetPieceSize(); ++id) {
      const std::string& piece = processor_.IdToPiece(id);
      if (processor_.IsByte(id)) byte_ids_[uint8_t(byte_of(piece))] = id;
      neighbours_.add(with_spaces(piece));
      merges_ = merges_ && processor_.GetScore(id) == std::round(processor_.GetScore(id));
    }
    if (std::ranges::count(byte_ids_, -1) > 0)
      throw ConfigError(
          "{}: has no byte fallback (a piece for each of the 256 bytes), which exact text needs", origin);
  }
  const Processor& processor() const { return processor_; }
  const Normalizer& normalizer() const override { return normalizer_; }

  void encode(std::string_view text, Place place, std::vector<int32_t>& ids) const override {
    const bool prefix =
        !place.joined && !text.starts_with(' ') && !text.starts_with(kSpaceMark) &&
        (scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && place.first));
    std::string changed;
    if (prefix || (merges_ && text.find(kSpaceMark) != std::string_view::npos)) {
      // Published models read a real U+2581 as a space. One of our own gives its bytes.
      changed = (prefix ? " " : "") + (merges_ ? with_spaces(text) : std::string(text));
      text = changed;
    }
    while (!text.empty()) {
      const size_t plain = std::min(text.find(kSpaceMark), text.size());
      encode_plain(text.substr(0, plain), ids);
      text.remove_prefix(plain);
      if (text.empty()) break;
      for (const char c : kSpaceMark) ids.push_back(byte_ids_[uint8_t(c)]);
      text.remove_prefix(kSpaceMark.size());
    }
  }
  void encode_byte(uint8_t byte, std::vector<int32_t>& ids) const override { ids.push_back(byte_ids_[byte]); }

 private:
  static void load(const std::string& model, const std::string& origin, Processor& processor) {
    std::string problem;
    try {
      const auto status = processor.LoadFromSerializedProto(model);
      if (!status.ok()) problem = status.ToString();
    } catch (const std::exception& e) {  // of the tree that it builds of the pieces
      problem = e.what();
    }
    if (!problem.empty())
      throw ConfigError("{}: not a sentencepiece model: {}", origin, printable(problem, 200));
  }

  // Sentencepiece reads some models and then fails to write a text with their pieces.
  void run(const Processor& processor, std::string_view text, std::vector<int32_t>& ids) const {
    thread_local std::vector<int> part;
    const auto status = processor.Encode({text.data(), text.size()}, &part);
    if (!status.ok())
      throw ConfigError("{}: its pieces cannot write '{}': {}", origin_, printable(text),
                        printable(status.ToString(), 200));
    ids.insert(ids.end(), part.begin(), part.end());
  }

  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const {
    if (!merges_) return run(processor_, text, ids);
    while (!text.empty()) {
      const std::string_view word = text.substr(0, neighbours_.word(text));
      cache_.encode(word, ids, [this](std::string_view w, auto& out) { run(processor_, w, out); });
      text.remove_prefix(word.size());
    }
  }

  std::string origin_;
  PrependScheme scheme_;
  Normalizer normalizer_;  // does nothing
  Processor processor_;    // without the model's dummy prefix
  std::array<int32_t, 256> byte_ids_;
  Neighbours neighbours_;
  // Byte-pair merges: scores are ranks, whole numbers, and words are encoded alone. A unigram model's sums of
  // scores could be rounded otherwise there.
  bool merges_ = true;
  PieceCache<4> cache_;
};

// Errors: ConfigError if text in the middle of a conversation does not survive.
void check_exact(const PieceEncoder& encoder, const std::vector<std::string>& texts,
                 const std::string& origin) {
  const std::string probe = "  a\tb \n\n c\xC2\xB5 ";
  std::vector<int32_t> ids;
  encoder.encode(probe, {.first = false, .joined = true}, ids);
  std::string decoded;
  for (int32_t id : ids) decoded += texts[size_t(id)];
  if (decoded != probe)
    throw ConfigError(
        "{}: changes white space or characters (normalisation); train with normalization identity and "
        "remove_extra_whitespaces off",
        origin);
}

}  // namespace

SentencePieces read_sentence_pieces(const std::string& model, const std::string& origin,
                                    const FolderTokens* folder) {
  check_piece_model(model, origin);
  const bool prefix = folder && wants_dummy_prefix(model);
  auto encoder = std::make_unique<PieceEncoder>(model, origin,
                                                prefix ? folder->prepend_scheme() : PrependScheme::kNever);
  const Processor& processor = encoder->processor();
  const std::vector<PieceType> types = piece_types(model);
  SentencePieces read;
  read.parts.kind = "sentencepiece's tokenizer.model";
  std::map<std::string, int64_t> ids;
  std::vector<AddedToken> own;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    const std::string& piece = processor.IdToPiece(id);
    const PieceType type = types.at(size_t(id));
    const bool special = type == PieceType::kControl || type == PieceType::kUnknown,
               byte = processor.IsByte(id);
    if (special || type == PieceType::kUserDefined)
      own.push_back({.id = id, .name = piece, .special = special});
    ids.emplace(piece, id);
    read.parts.texts.push_back(special ? "" : byte ? std::string(1, byte_of(piece)) : with_spaces(piece));
    read.pieces.push_back(
        {special || byte ? piece : read.parts.texts.back(), processor.GetScore(id), special, byte});
  }
  AddedTokens added(std::ssize(read.parts.texts), [&](const std::string& name) {
    const auto found = ids.find(name);
    return found == ids.end() ? std::nullopt : std::optional(found->second);
  });
  for (AddedToken& token : own) added.add(std::move(token));
  if (folder) folder->add_to(added, folder->rebuilds(false));
  take_added_tokens(read.parts, added, origin);
  check_exact(*encoder, read.parts.texts, origin);
  read.parts.encoder = std::move(encoder);
  return read;
}

}  // namespace temper::policy
