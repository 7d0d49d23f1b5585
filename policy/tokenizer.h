#pragma once
// Text ↔ token ids.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace temper {

// A sentencepiece model with byte fallback and no normalisation: decode(encode(s)) == s for any bytes; what
// is not valid UTF-8 becomes byte tokens. Special tokens have ids of their own that encode() never produces,
// whatever the text.
class Tokenizer {
 public:
  // Errors: ConfigError naming the file and what is wrong with it.
  static Tokenizer load(const std::filesystem::path& dir);  // tokenizer.model
  // Trains a model on the texts; deterministic. `vocab_size` counts special tokens and the 256 bytes; fewer
  // where the texts do not have as many pieces. Errors: ConfigError if it does not hold the bytes, special
  // tokens and characters.
  static Tokenizer train(const std::vector<std::string>& texts, int64_t vocab_size);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  std::vector<int32_t> encode(std::string_view text) const;
  std::string decode(const std::vector<int32_t>& ids) const;  // special tokens give nothing
  std::string token_text(int32_t id) const;                   // one token, special ones by name
  int32_t special(std::string_view name) const;  // "<|im_start|>", …; TEMPER_CHECK on an unknown one
  bool is_special(int32_t id) const;
  int64_t vocab_size() const;

  // tokenizer.model and the JSON files that make transformers load it.
  void save(const std::filesystem::path& dir) const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  static Tokenizer from_model(std::string model, const std::string& origin);
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper
