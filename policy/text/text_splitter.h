#pragma once
// Text → the pieces inside which byte-level BPE merges.

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace temper::policy {

// A pre-tokenizer's regular expression, run by PCRE2. Only the published patterns are known: Oniguruma, which
// `tokenizers` runs them on, and PCRE2 agree on these and need not on others.
class TextSplitter {
 public:
  // Errors: ConfigError naming `where` if the pattern is not a known one.
  TextSplitter(std::string_view pattern, const std::string& where);
  static std::span<const std::string_view> known_patterns();
  // The pattern of a ByteLevel pre-tokenizer with use_regex.
  static std::string_view gpt2_pattern();
  ~TextSplitter();

  // One text being cut. Holds what several threads must not share.
  class Cut {
   public:
    // `text` must be valid UTF-8 and outlive the cut.
    Cut(const TextSplitter& splitter, std::string_view text);
    ~Cut();
    Cut(const Cut&) = delete;
    Cut& operator=(const Cut&) = delete;
    // The next piece, or an empty one at the end of the text. Text between matches is a piece, too.
    std::string_view next();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace temper::policy
