#pragma once
// A serialized sentencepiece model, looked at before sentencepiece is: it believes what it loads.
//
// Source: sentencepiece_model.proto of sentencepiece 0.1.97.

#include <string>
#include <string_view>
#include <vector>

namespace temper::policy {

// The numbers of the fields that matter here.
namespace piece_model {
inline constexpr uint32_t kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3, kDenormalizerSpec = 5;
inline constexpr uint32_t kText = 1, kScore = 2, kType = 3;  // fields of a piece
inline constexpr uint32_t kModelType = 3;                    // field of the trainer's specification
inline constexpr uint32_t kCharsMap = 2, kDummyPrefix = 3;   // fields of a normaliser's specification
}  // namespace piece_model

// Whether the bytes are a sentencepiece model, judging by the outermost fields. Llama 3 ships a list of ranks under
// the same file name.
bool is_piece_model(std::string_view bytes);

// What a piece is.
enum class PieceType { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };
// Of each piece of a model that check_piece_model has looked at.
std::vector<PieceType> piece_types(std::string_view bytes);
// Whether such a model wants a space before each text.
bool wants_dummy_prefix(std::string_view bytes);

// Errors: ConfigError beginning with `origin` where the model is malformed, where its pieces are not text of
// some length with finite scores, or where it brings a compiled map of characters. Such a map changes
// characters, which a tokenizer here may not; and its offsets may point anywhere.
void check_piece_model(std::string_view bytes, const std::string& origin);

}  // namespace temper::policy
