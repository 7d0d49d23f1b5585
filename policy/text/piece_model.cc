#include "policy/text/piece_model.h"

#include <cmath>
#include <protozero/pbf_reader.hpp>

#include "base/error.h"
#include "base/input/printable.h"
#include "base/input/utf8.h"

namespace temper::policy {
namespace {

using namespace piece_model;
using protozero::pbf_reader, protozero::tag_and_type;

constexpr size_t kMostPieces = size_t(1) << 19, kMostPieceBytes = 1024;
constexpr float kMostScore = 1e9f;  // sums of them over a long text are finite

constexpr auto kBytes = protozero::pbf_wire_type::length_delimited,
               kVarint = protozero::pbf_wire_type::varint, kFixed32 = protozero::pbf_wire_type::fixed32;

std::string_view bytes_of(pbf_reader& field) {
  const auto view = field.get_view();
  return {view.data(), view.size()};
}

class Check {
 public:
  explicit Check(const std::string& origin) : origin_(origin) {}

  void model(std::string_view bytes) const {
    size_t pieces = 0;
    each(bytes, "", [&](pbf_reader& field) {
      if (field.tag() == kPieces && ++pieces > kMostPieces) refuse("has more than {} pieces", kMostPieces);
      switch (field.tag_and_type()) {
        case tag_and_type(kPieces, kBytes):
          return piece(bytes_of(field), pieces - 1);
        case tag_and_type(kNormalizerSpec, kBytes):
        case tag_and_type(kDenormalizerSpec, kBytes):
          return normalizer(bytes_of(field));
        default:
          field.skip();
      }
    });
    if (pieces == 0) refuse("not a sentencepiece model: it has no pieces");
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    throw ConfigError("{}: {}", origin_, fmt::format(text, std::forward<Args>(args)...));
  }

  // `take` reads the field or skips it.
  template <class Take>
  void each(std::string_view bytes, const char* what, const Take& take) const {
    try {
      for (pbf_reader fields(bytes.data(), bytes.size()); fields.next();) take(fields);
    } catch (const protozero::exception&) {
      refuse("not a sentencepiece model: it is malformed{}", what);
    }
  }

  void piece(std::string_view bytes, size_t id) const {
    each(bytes, " in a piece", [&](pbf_reader& field) {
      switch (field.tag_and_type()) {
        case tag_and_type(kText, kBytes):
          return text(bytes_of(field), id);
        case tag_and_type(kScore, kFixed32):
          return score(field.get_float(), id);
        default:
          field.skip();
      }
    });
  }

  void score(float score, size_t id) const {
    if (!(std::abs(score) <= kMostScore)) refuse("piece {} has the score {}", id, score);
  }

  void text(std::string_view piece, size_t id) const {
    if (piece.size() > kMostPieceBytes)
      refuse("piece {} has {} bytes, more than {}", id, piece.size(), kMostPieceBytes);
    if (piece.find('\0') != std::string_view::npos || valid_utf8_prefix(piece) != piece.size())
      refuse("piece {}, '{}', is not text", id, printable(piece));
  }

  void normalizer(std::string_view bytes) const {
    each(bytes, " in a normaliser", [&](pbf_reader& field) {
      if (field.tag_and_type() != tag_and_type(kCharsMap, kBytes)) return field.skip();
      const size_t map_bytes = bytes_of(field).size();
      if (map_bytes > 0)
        refuse("changes characters (its normaliser has a map of {} bytes); train with normalization identity",
               map_bytes);
    });
  }

  const std::string& origin_;
};

}  // namespace

bool is_piece_model(std::string_view bytes) {
  bool has_pieces = false;
  try {
    for (pbf_reader fields(bytes.data(), bytes.size()); fields.next(); fields.skip())
      has_pieces = has_pieces || fields.tag_and_type() == tag_and_type(kPieces, kBytes);
  } catch (const protozero::exception&) {
    return false;
  }
  return has_pieces;
}

std::vector<PieceType> piece_types(std::string_view bytes) {
  std::vector<PieceType> types;
  for (pbf_reader model(bytes.data(), bytes.size()); model.next();) {
    if (model.tag_and_type() != tag_and_type(kPieces, kBytes)) {
      model.skip();
      continue;
    }
    PieceType& type = types.emplace_back(PieceType::kNormal);
    for (pbf_reader piece = model.get_message(); piece.next();) {
      if (piece.tag_and_type() == tag_and_type(kType, kVarint))
        type = PieceType(piece.get_enum());
      else
        piece.skip();
    }
  }
  return types;
}

bool wants_dummy_prefix(std::string_view bytes) {
  bool wants = true;
  for (pbf_reader model(bytes.data(), bytes.size()); model.next();) {
    if (model.tag_and_type() != tag_and_type(kNormalizerSpec, kBytes)) {
      model.skip();
      continue;
    }
    for (pbf_reader spec = model.get_message(); spec.next();) {
      if (spec.tag_and_type() == tag_and_type(kDummyPrefix, kVarint))
        wants = spec.get_bool();
      else
        spec.skip();
    }
  }
  return wants;
}

void check_piece_model(std::string_view bytes, const std::string& origin) { Check(origin).model(bytes); }

}  // namespace temper::policy
