#pragma once
// Text ↔ token ids.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace temper::policy {

// A Hugging Face folder's tokenizer: byte-level BPE (tokenizer.json), or a sentencepiece model with byte
// fallback (tokenizer.model). Any bytes can be encoded: a byte that is not valid UTF-8 becomes the token of
// that byte. decode(encode(s)) == s, except that a byte-level tokenizer with NFC normalises s first.
//
// Added tokens ("<|im_start|>", "<think>", …) have ids of their own that encode() never produces, whatever
// the text: a prompt or a compiler's message cannot pose as one.
//
// All const functions may be called from several threads at once.
class Tokenizer {
 public:
  // tokenizer.model where the folder has a sentencepiece model, else tokenizer.json: where a folder holds
  // both, the JSON was derived from the model. Errors: ConfigError naming the file, the field and what is
  // supported.
  static Tokenizer load(const std::filesystem::path& dir);
  // Trains a sentencepiece model on the texts; deterministic. `vocab_size` counts special tokens and the 256
  // bytes; fewer where the texts do not have as many pieces. Errors: ConfigError if it does not hold the
  // bytes, special tokens and characters.
  static Tokenizer train(const std::vector<std::string>& texts, int64_t vocab_size);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Text in the middle of a conversation.
  std::vector<int32_t> encode(std::string_view text) const;
  // Encodes text at the start of a segment as transformers does: for some sentencepiece models a space is put before
  // it. For all others it equals encode().
  std::vector<int32_t> encode_start(std::string_view text) const;
  // The texts of the tokens, one after another, so that decoding is append-only. Special tokens are left out; added
  // tokens that are not special ("<think>") are written by name.
  std::string decode(const std::vector<int32_t>& ids) const;
  std::string token_text(int32_t id) const;  // one token, special ones by name

  // The id of an added token or of a sentencepiece control piece, special or not.
  std::optional<int32_t> find_special(std::string_view name) const;
  int32_t special(std::string_view name) const;  // TEMPER_CHECK on an unknown name
  bool is_special(int32_t id) const;             // decode() gives nothing for it
  int64_t vocab_size() const;                    // ids are [0, vocab_size())

  // The files that describe the tokenizer, name → content: as they came, or those that make transformers load
  // a trained one.
  const std::map<std::string, std::string>& files() const;
  void save(const std::filesystem::path& dir) const;  // writes files()

  // The name of the chat format in which conversations are written; auto recognises it from the tokenizer's folder. It
  // is not stored in the tokenizer's files.
  std::string chat_format = "auto";

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::policy
