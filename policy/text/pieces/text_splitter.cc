#include "policy/text/pieces/text_splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/input/printable.h"

namespace temper::policy {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// DeepSeek's models split by several patterns, one after another.
constexpr std::string_view kDeepSeekV3 =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\r\n]*|"
    "\\s*[\r\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kDigitsByThree = R"(\p{N}{1,3})", kHanAndKana = "[一-龥぀-ゟ゠-ヿ]+",
                           kLineBreak = "[\r\n]", kWord = R"(\s?\p{L}+)", kPunctuated = R"(\s?\p{P}+)",
                           kHanAndHangul = "[一-龥ࠀ-一가-퟿]+";
constexpr std::array kKnownPatterns = {kQwen2,      kQwen35,        kLlama3,     kTekken,    kGpt4o,
                                       kDeepSeekV3, kDigitsByThree, kHanAndKana, kLineBreak, kWord,
                                       kPunctuated, kHanAndHangul,  kGpt2};

// PCRE2 takes U+180E for white space, as Unicode did until version 6.3; Oniguruma does not. The pattern runs
// over a copy with another format character of three bytes in its place, which no known pattern tells apart.
constexpr std::string_view kMongolianVowelSeparator = "\xE1\xA0\x8E", kWordJoiner = "\xE2\x81\xA0";

std::string without_vowel_separators(std::string_view text) {
  std::string copy(text);
  for (size_t at; (at = copy.find(kMongolianVowelSeparator)) != std::string::npos;)
    copy.replace(at, kWordJoiner.size(), kWordJoiner);
  return copy;
}

constexpr uint32_t kClassesOfUnicode = PCRE2_UTF | PCRE2_UCP;

std::string_view known_pattern(std::string_view pattern, const std::string& where) {
  if (std::ranges::find(kKnownPatterns, pattern) == kKnownPatterns.end())
    throw ConfigError(
        "{}: pattern {} is not known: must be that of Qwen, Llama 3, Mistral's tekken, DeepSeek, GPT-4o or "
        "GPT-2",
        where, printable(pattern, 300));
  return pattern;
}

}  // namespace

struct TextSplitter::Code {
  pcre2_code* code = nullptr;
  std::string pattern = {};
  uint32_t options = 0;
  ~Code() { pcre2_code_free(code); }
};

TextSplitter::TextSplitter(std::string_view pattern, uint32_t options) : code_(std::make_unique<Code>()) {
  int error = 0;
  PCRE2_SIZE at = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options, &error,
                              &at, nullptr);
  TEMPER_CHECK(code_->code, "PCRE2 error {} at {} of {}", error, at, pattern);
  code_->pattern = pattern;
  code_->options = options;
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);  // where there is no JIT it is interpreted
}

TextSplitter::TextSplitter(std::string_view pattern, const std::string& where)
    : TextSplitter(known_pattern(pattern, where), kClassesOfUnicode) {}

bool TextSplitter::operator==(const TextSplitter& other) const {
  return code_->pattern == other.code_->pattern && code_->options == other.code_->options;
}

TextSplitter TextSplitter::literal(std::string_view text) { return {text, PCRE2_UTF | PCRE2_LITERAL}; }

TextSplitter TextSplitter::digits(bool individual) {
  return {individual ? R"(\p{N})" : R"(\p{N}+)", kClassesOfUnicode};
}

TextSplitter TextSplitter::punctuation() { return {R"([!-/:-@\[-`{-~]|\p{P})", kClassesOfUnicode}; }

TextSplitter::TextSplitter(TextSplitter&&) noexcept = default;
TextSplitter& TextSplitter::operator=(TextSplitter&&) noexcept = default;
TextSplitter::~TextSplitter() = default;

std::span<const std::string_view> TextSplitter::known_patterns() { return kKnownPatterns; }
std::string_view TextSplitter::gpt2_pattern() { return kGpt2; }
std::string_view TextSplitter::qwen2_pattern() { return kQwen2; }
std::string_view TextSplitter::qwen35_pattern() { return kQwen35; }

TextSplitter::Cut::Cut(const TextSplitter& splitter, std::string_view text)
    : splitter_(splitter), text_(text), seen_(text) {
  if (text.find(kMongolianVowelSeparator) == std::string_view::npos) return;
  copy_ = without_vowel_separators(text);
  seen_ = copy_;
}

// Finds the match at or behind `at_`; an empty one at the end of the text where there is none.
void TextSplitter::Cut::find() {
  thread_local const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create(1, nullptr), &pcre2_match_data_free);
  const int found = pcre2_match(splitter_.code_->code, reinterpret_cast<PCRE2_SPTR>(seen_.data()),
                                seen_.size(), at_, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match.get(), nullptr);
  TEMPER_CHECK(found >= 0 || found == PCRE2_ERROR_NOMATCH, "PCRE2 error {}", found);
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.get());
  match_begin_ = found >= 0 ? bounds[0] : text_.size();
  match_end_ = found >= 0 ? bounds[1] : text_.size();
}

std::string_view TextSplitter::Cut::next() {
  if (at_ == text_.size()) return {};
  if (at_ >= match_end_) find();
  const size_t begin = at_;
  matched_ = begin == match_begin_;
  at_ = matched_ ? match_end_ : match_begin_;
  return text_.substr(begin, at_ - begin);
}

}  // namespace temper::policy
