#pragma once
// A sentencepiece model as a tokenizer.

#include <string>
#include <vector>

#include "policy/text/folder_tokens.h"
#include "policy/text/pieces/text_encoder.h"

namespace temper::policy {

struct Piece {
  std::string text;
  float score;
  bool special, byte;
};

struct SentencePieces {
  TokenizerParts parts;
  std::vector<Piece> pieces;  // as the model lists them
};

// Reads a serialized sentencepiece model; `origin` names it in messages. `folder`: what the files beside it say; null:
// there are none. A space comes before a text as transformers has it, not sentencepiece: none before one that begins with a
// space. Errors: ConfigError if it is not a model, has
// no byte fallback, or changes white space or characters in the middle of a text.
SentencePieces read_sentence_pieces(const std::string& model, const std::string& origin,
                                    const FolderTokens* folder = nullptr);

}  // namespace temper::policy
