#include "base/input/scalars.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

namespace temper {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Without a leading plus, and without the underscores that stand between two digits.
std::string plain_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && (is_digit(text[1]) || text[1] == '.')) text.remove_prefix(1);
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool separator =
        text[i] == '_' && i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (!separator) plain += text[i];
  }
  return plain;
}

template <class T>
bool read_whole(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// The word in lower case, with a capital, or in capitals.
bool is_word(std::string_view text, std::string_view word) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  const auto capitals = size_t(std::ranges::count_if(text, [](char c) { return c >= 'A' && c <= 'Z'; }));
  const bool title = capitals == 1 && text[0] <= 'Z';
  return lower == word && (capitals == 0 || title || capitals == word.size());
}

}  // namespace

bool parse_scalar(const std::string& text, bool& value) {
  constexpr std::array<std::string_view, 3> yes = {"true", "yes", "on"}, no = {"false", "no", "off"};
  const auto is = [&](std::string_view word) { return is_word(text, word); };
  value = std::ranges::any_of(yes, is);
  return value || std::ranges::any_of(no, is);
}

bool parse_scalar(const std::string& text, int64_t& value) {
  constexpr double kExact = 9007199254740992;  // 2^53
  const std::string plain = plain_number(text);
  if (read_whole(plain, value)) return true;
  double number = 0;
  if (plain.find_first_of("eE") == std::string::npos || !read_whole(plain, number)) return false;
  if (!(std::abs(number) <= kExact) || number != std::floor(number)) return false;
  value = int64_t(number);
  return true;
}

bool parse_scalar(const std::string& text, double& value) {
  return read_whole(plain_number(text), value) && std::isfinite(value);
}

bool parse_scalar(const std::string& text, std::string& value) {
  value = text;
  return true;
}

}  // namespace temper
