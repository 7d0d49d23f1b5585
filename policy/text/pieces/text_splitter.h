#pragma once
// Text → parts, by a regular expression.

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
  // Splits at a text itself. It is not empty.
  static TextSplitter literal(std::string_view text);
  static std::span<const std::string_view> known_patterns();
  // The pattern of a ByteLevel pre-tokenizer with use_regex.
  static std::string_view gpt2_pattern();
  static std::string_view qwen2_pattern();
  static std::string_view qwen35_pattern();
  // Those of Digits, one by one or together, and of Punctuation.
  static TextSplitter digits(bool individual);
  static TextSplitter punctuation();

  TextSplitter(TextSplitter&&) noexcept;
  TextSplitter& operator=(TextSplitter&&) noexcept;
  ~TextSplitter();
  bool operator==(const TextSplitter& other) const;  // the same pattern, read the same way

  // One text being cut.
  class Cut {
   public:
    // `text` must be valid UTF-8 and outlive the cut, as must the splitter.
    Cut(const TextSplitter& splitter, std::string_view text);
    Cut(const Cut&) = delete;
    Cut& operator=(const Cut&) = delete;
    // The next part, or an empty one at the end of the text. Text between matches is a part, too.
    std::string_view next();
    // Whether the last part matched.
    bool matched() const { return matched_; }

   private:
    void find();

    const TextSplitter& splitter_;
    std::string_view text_, seen_;  // seen: what the pattern sees
    std::string copy_;
    size_t at_ = 0, match_begin_ = 0, match_end_ = 0;
    bool matched_ = false;
  };

 private:
  struct Code;
  TextSplitter(std::string_view pattern, uint32_t options);

  std::unique_ptr<Code> code_;
};

}  // namespace temper::policy
