#pragma once
// Text ↔ token ids.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/pieces/text_range.h"

namespace temper::policy {

struct ChatLayout;  // policy/chat/chat_layout.h

// A Hugging Face folder's tokenizer: byte-pair encoding of bytes or of characters (tokenizer.json), or a sentencepiece
// model with byte fallback (tokenizer.model). Ids are those of `tokenizers` 0.23 and transformers 5.17, where that does not
// leave out what tokenizer.json says (policy/text/file_or_class.h). Any bytes can be
// encoded: a byte that is not valid UTF-8 becomes the token of that byte. decode(encode(s)) == s, except that a normaliser
// changes s first, that U+2581 is a space to pieces of characters, and that bytes without a token are lost.
//
// Added tokens ("<|im_start|>", "<think>", …) have names that stand for them in a text. Those of control tokens do so only
// where a program wrote the text: a prompt or a compiler's message cannot pose as one.
//
// All const functions may be called from several threads at once.
class Tokenizer {
 public:
  // tokenizer.json where it has byte-pair encoding, else tokenizer.model. What transformers makes of the files beside them
  // is in policy/text/folder_tokens.h. Errors: ConfigError naming the file, the field and what is supported.
  static Tokenizer load(const std::filesystem::path& dir);
  // The same of a folder's files, name → content; `dir` is what messages call the folder.
  static Tokenizer read(const std::map<std::string, std::string>& files, const std::filesystem::path& dir);
  // Trains a sentencepiece model on the texts; deterministic. `vocab_size` counts special tokens and the 256
  // bytes; fewer where the texts do not have as many pieces. Errors: ConfigError if it does not hold the
  // bytes, special tokens and characters.
  static Tokenizer train(const std::vector<std::string>& texts, int64_t vocab_size);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Text in the middle of a conversation, as `tokenizers` encodes it with encode_special_tokens: names of control tokens
  // are text, those of other added tokens are the tokens. Nothing is put before it.
  std::vector<int32_t> encode(std::string_view text) const;
  // As encode(), of text at the start of a conversation: for some tokenizers a space is put before it.
  std::vector<int32_t> encode_start(std::string_view text) const;
  // Ids of a text as transformers encodes it without adding tokens (add_special_tokens=False): the name of an added token
  // in it is that token, special or not, with what its flags strip. `contents` are the ranges, rising and apart, that
  // people or programs wrote: a name that overlaps one becomes the token only if it is no control token.
  // `starts`: the text is not the continuation of another, whose last token is no added one.
  std::vector<int32_t> encode_written(std::string_view text, std::span<const TextRange> contents = {},
                                      bool starts = true) const;
  // How many times a content names a control token.
  int64_t count_control_names(std::string_view content) const;
  // The bytes so far that no token stood for, in any of the functions above: some published vocabularies lack bytes.
  int64_t lost_bytes() const;

  // No content becomes these tokens, however they are flagged. Special tokens are control tokens anyway.
  void mark_control(const std::vector<int32_t>& ids);
  // These tokens end an answer: they are control tokens, and decode() gives nothing for them, however they are flagged.
  void mark_ends(const std::vector<int32_t>& ids);

  // Those that are marked; at first those that config.json and generation_config.json name, and eos_token
  // (policy/text/named_tokens.h).
  const std::vector<int32_t>& ends() const;
  std::vector<std::string> added_names() const;  // of all added tokens

  // The texts of the tokens, one after another, so that decoding is append-only. Special tokens and those that end an
  // answer are left out; other added tokens ("<think>") are written by name.
  std::string decode(const std::vector<int32_t>& ids) const;
  std::string token_text(int32_t id) const;  // one token, special ones by name

  // The id of an added token or of a sentencepiece control piece, special or not.
  std::optional<int32_t> find_special(std::string_view name) const;
  int32_t special(std::string_view name) const;  // TEMPER_CHECK on an unknown name
  bool is_special(int32_t id) const;             // decode() gives nothing for it
  const std::string& kind() const;  // for people: "byte-pair encoding of bytes in tokenizer.json"
  int64_t vocab_size() const;       // ids are [0, vocab_size())

  // Lines for whoever loads it: where transformers 5, or tokenizer.json by itself, would give other ids.
  const std::vector<std::string>& remarks() const;

  // The files that describe the tokenizer, name → content: as they came, or those that make transformers load
  // a trained one.
  const std::map<std::string, std::string>& files() const;
  void save(const std::filesystem::path& dir) const;  // writes files()

  // How conversations are written, once that is chosen (policy/chat/choice.h). It is not among files().
  std::shared_ptr<const ChatLayout> chat;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::policy
