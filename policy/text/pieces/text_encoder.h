#pragma once
// The parts of a tokenizer, independent of the kind of file that describes it.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/pieces/added_tokens.h"
#include "policy/text/pieces/normalizer.h"

namespace temper::policy {

// Text without added tokens → ids, the part that differs between kinds. Safe to call from several threads.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // What is done to a text before encode() gets it.
  virtual const Normalizer& normalizer() const = 0;
  // Appends the ids of valid UTF-8.
  virtual void encode(std::string_view text, Place place, std::vector<int32_t>& ids) const = 0;
  // Appends the id of a byte that is no UTF-8.
  virtual void encode_byte(uint8_t byte, std::vector<int32_t>& ids) const = 0;
  // The bytes so far that no token stands for.
  virtual int64_t lost_bytes() const { return 0; }
};

// A tokenizer's parts.
struct TokenizerParts {
  std::string kind;  // for people: "byte-pair encoding of bytes in tokenizer.json"
  std::unique_ptr<TextEncoder> encoder;
  std::vector<std::string> texts;  // [vocab_size] what each id decodes to; "" for special tokens and for none
  std::map<int64_t, AddedToken> added;  // by id
  std::vector<std::string> remarks;     // lines for whoever loads it
};

// Adds the tokens to `parts`: their texts, and their ids. `pieces`: how many ids the model has. Errors: ConfigError
// naming `origin` where a token would get the id of another piece.
void take_added_tokens(TokenizerParts& parts, const AddedTokens& tokens, const std::string& origin);

}  // namespace temper::policy
