#include "policy/text/piece_model.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/input/printable.h"
#include "base/input/utf8.h"
#include "policy/text/protobuf_fields.h"

namespace temper {
namespace {

using namespace piece_model;

constexpr size_t kMostPieces = size_t(1) << 19, kMostPieceBytes = 1024;
constexpr float kMostScore = 1e9f;  // sums of them over a long text are finite

class Check {
 public:
  explicit Check(const std::string& origin) : origin_(origin) {}

  void model(std::string_view bytes) const {
    size_t pieces = 0;
    each(bytes, "", [&](const ProtobufField& field) {
      if (field.number == kPieces && ++pieces > kMostPieces) refuse("has more than {} pieces", kMostPieces);
      if (field.wire != ProtobufWire::kBytes) return;
      if (field.number == kPieces) piece(field.value, pieces - 1);
      if (field.number == kNormalizerSpec || field.number == kDenormalizerSpec) normalizer(field.value);
    });
    if (pieces == 0) refuse("not a sentencepiece model: it has no pieces");
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    throw ConfigError("{}: {}", origin_, fmt::format(text, std::forward<Args>(args)...));
  }

  template <class Take>
  void each(std::string_view bytes, const char* what, const Take& take) const {
    ProtobufFields fields(bytes);
    while (const auto field = fields.next()) take(*field);
    if (fields.malformed()) refuse("not a sentencepiece model: it is malformed{}", what);
  }

  void piece(std::string_view bytes, size_t id) const {
    each(bytes, " in a piece", [&](const ProtobufField& field) {
      if (field.number == kText && field.wire == ProtobufWire::kBytes) text(field.value, id);
      if (field.number != kScore || field.wire != ProtobufWire::kFixed32) return;
      float score;
      std::memcpy(&score, field.value.data(), sizeof score);
      if (!(std::abs(score) <= kMostScore)) refuse("piece {} has the score {}", id, score);
    });
  }

  void text(std::string_view piece, size_t id) const {
    if (piece.size() > kMostPieceBytes)
      refuse("piece {} has {} bytes, more than {}", id, piece.size(), kMostPieceBytes);
    if (piece.find('\0') != std::string_view::npos || valid_utf8_prefix(piece) != piece.size())
      refuse("piece {}, '{}', is no text", id, printable(piece));
  }

  void normalizer(std::string_view bytes) const {
    each(bytes, " in a normaliser", [&](const ProtobufField& field) {
      if (field.number == kCharsMap && !field.value.empty())
        refuse("changes characters (its normaliser has a map of {} bytes); train with normalization identity",
               field.value.size());
    });
  }

  const std::string& origin_;
};

}  // namespace

bool is_piece_model(std::string_view bytes) {
  ProtobufFields fields(bytes);
  bool has_pieces = false;
  while (const auto field = fields.next())
    has_pieces = has_pieces || (field->number == kPieces && field->wire == ProtobufWire::kBytes);
  return has_pieces && !fields.malformed();
}

void check_piece_model(std::string_view bytes, const std::string& origin) { Check(origin).model(bytes); }

}  // namespace temper
