#pragma once
// The parts of a tokenizer, independent of the kind of file that describes it.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace temper::policy {

// Text → ids, the part that differs between kinds. Safe to call from several threads.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // Appends the ids of any bytes. `starts`: the text starts a segment, see Tokenizer::encode_start.
  virtual void encode(std::string_view text, bool starts, std::vector<int32_t>& ids) const = 0;
};

// A token outside the text's own alphabet of pieces.
struct AddedToken {
  int64_t id = 0;
  std::string name;
  bool special = false;  // decoding gives nothing
};

// A tokenizer's parts.
struct TokenizerParts {
  std::unique_ptr<TextEncoder> encoder;
  std::vector<std::string> texts;  // [vocab_size] what each id decodes to; "" for special tokens
  std::map<std::string, AddedToken, std::less<>> added;
};

// Adds the tokens to `parts`: their texts, and their ids after the existing ones. Errors: ConfigError naming `origin`
// if an id is negative, used twice, or leaves a gap below it.
void add_tokens(TokenizerParts& parts, const std::vector<AddedToken>& tokens, const std::string& origin);

}  // namespace temper::policy
