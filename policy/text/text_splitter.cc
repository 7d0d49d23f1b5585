#include "policy/text/text_splitter.h"

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
constexpr std::array kKnownPatterns = {
    // Qwen2, Qwen2.5, Qwen3
    std::string_view(
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
    // Llama 3
    std::string_view(
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
    // Mistral's tekken
    std::string_view(
        R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
    kGpt2,
};

// PCRE2 takes U+180E for white space, as Unicode did until version 6.3; Oniguruma does not. The pattern runs
// over a copy with another format character of three bytes in its place, which no known pattern tells apart.
constexpr std::string_view kMongolianVowelSeparator = "\xE1\xA0\x8E", kWordJoiner = "\xE2\x81\xA0";

std::string without_vowel_separators(std::string_view text) {
  std::string copy(text);
  for (size_t at; (at = copy.find(kMongolianVowelSeparator)) != std::string::npos;)
    copy.replace(at, kWordJoiner.size(), kWordJoiner);
  return copy;
}

}  // namespace

struct TextSplitter::Code {
  pcre2_code* code = nullptr;
  ~Code() { pcre2_code_free(code); }
};

TextSplitter::TextSplitter(std::string_view pattern, const std::string& where)
    : code_(std::make_unique<Code>()) {
  if (std::ranges::find(kKnownPatterns, pattern) == kKnownPatterns.end())
    throw ConfigError(
        "{}: pattern {} is not known: must be that of Qwen2, Llama 3, Mistral's tekken or GPT-2", where,
        printable(pattern, 300));
  int error = 0;
  PCRE2_SIZE at = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr);
  TEMPER_CHECK(code_->code, "PCRE2 error {} at {} of {}", error, at, pattern);
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);  // where there is no JIT it is interpreted
}

TextSplitter::~TextSplitter() = default;

std::span<const std::string_view> TextSplitter::known_patterns() { return kKnownPatterns; }

std::string_view TextSplitter::gpt2_pattern() { return kGpt2; }

struct TextSplitter::Cut::State {
  const pcre2_code* code = nullptr;
  std::string_view text, matched;  // matched: what the pattern sees
  std::string copy;
  pcre2_match_data* match = nullptr;
  size_t at = 0, match_begin = 0, match_end = 0;
  ~State() { pcre2_match_data_free(match); }

  // Finds the match at or behind `at`; an empty one at the end of the text where there is none.
  void find() {
    const int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(matched.data()), matched.size(), at,
                                  PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match, nullptr);
    TEMPER_CHECK(found > 0 || found == PCRE2_ERROR_NOMATCH, "PCRE2 error {}", found);
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match);
    match_begin = found > 0 ? bounds[0] : text.size();
    match_end = found > 0 ? bounds[1] : text.size();
  }
};

TextSplitter::Cut::Cut(const TextSplitter& splitter, std::string_view text)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.code = splitter.code_->code;
  s.text = s.matched = text;
  s.match = pcre2_match_data_create_from_pattern(splitter.code_->code, nullptr);
  if (text.find(kMongolianVowelSeparator) == std::string_view::npos) return;
  s.copy = without_vowel_separators(text);
  s.matched = s.copy;
}

TextSplitter::Cut::~Cut() = default;

std::string_view TextSplitter::Cut::next() {
  State& s = *state_;
  if (s.at == s.text.size()) return {};
  if (s.at >= s.match_end) s.find();
  const size_t begin = s.at;
  s.at = begin < s.match_begin ? s.match_begin : s.match_end;
  return s.text.substr(begin, s.at - begin);
}

}  // namespace temper::policy
