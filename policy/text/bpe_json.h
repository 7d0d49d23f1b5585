#pragma once
// tokenizer.json of `tokenizers` with byte-pair encoding: of bytes (Qwen, Llama 3, SmolLM2, Mistral's tekken, GPT-2), or
// of characters that fall back to bytes (Llama 2, Mistral, CodeLlama: what sentencepiece does).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policy/text/folder_tokens.h"
#include "policy/text/pieces/added_tokens.h"
#include "policy/text/pieces/text_encoder.h"

namespace temper::policy {

class BpeJson {
 public:
  // Errors: ConfigError naming `origin` if the content is not a JSON object, or one that does not fit.
  BpeJson(const std::string& content, const std::string& origin);
  // Whether the model is one of byte-pair encoding.
  bool is_bpe() const;
  // The tokens that the file itself lists, in its order.
  std::vector<AddedToken> added_tokens() const;
  // Anything that would change ids and is not implemented is refused by name: other models, normalisers, pre-tokenizers
  // and patterns. `folder`: what the files beside it say. Errors: ConfigError naming `origin`, the field and what is
  // supported.
  TokenizerParts read(const FolderTokens& folder) const;

 private:
  nlohmann::json json_;
  std::string origin_;
};

}  // namespace temper::policy
