#include "policy/text/pieces/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

namespace temper::policy {
namespace {

struct CodePoint {
  int32_t value = -1;  // −1: not UTF-8
  size_t bytes = 1;
};

CodePoint front_of(std::string_view text) {
  utf8proc_int32_t value = -1;
  const auto used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     utf8proc_ssize_t(text.size()), &value);
  return used > 0 ? CodePoint{value, size_t(used)} : CodePoint{};
}

CodePoint back_of(std::string_view text) {
  for (size_t bytes = 1; bytes <= std::min<size_t>(4, text.size()); ++bytes) {
    if ((uint8_t(text[text.size() - bytes]) & 0xC0) == 0x80) continue;
    const CodePoint point = front_of(text.substr(text.size() - bytes));
    return point.bytes == bytes ? point : CodePoint{};
  }
  return {};
}

bool is_space(int32_t point) {
  return (point >= 0x09 && point <= 0x0D) || point == 0x20 || point == 0x85 || point == 0xA0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

// Letters by their use, though their category is that of symbols.
bool is_circled_letter(int32_t point) {
  return (point >= 0x24B6 && point <= 0x24E9) || (point >= 0x1F130 && point <= 0x1F149) ||
         (point >= 0x1F150 && point <= 0x1F169) || (point >= 0x1F170 && point <= 0x1F189);
}

bool is_word(int32_t point) {
  if (point < 0) return false;
  switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return point == 0x200C || point == 0x200D || is_circled_letter(point);
  }
}

}  // namespace

Character first_of(std::string_view text) {
  if (uint8_t(text[0]) < 0x80) return {char32_t(text[0]), 1};
  const CodePoint point = front_of(text);
  return point.value >= 0 ? Character{char32_t(point.value), point.bytes} : Character{uint8_t(text[0]), 1};
}

bool starts_with_word(std::string_view text) { return !text.empty() && is_word(front_of(text).value); }

bool ends_with_word(std::string_view text) { return !text.empty() && is_word(back_of(text).value); }

size_t space_before(std::string_view text) {
  while (!text.empty()) {
    const CodePoint last = back_of(text);
    if (!is_space(last.value)) break;
    text.remove_suffix(last.bytes);
  }
  return text.size();
}

size_t space_after(std::string_view text) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    const CodePoint next = front_of(text.substr(bytes));
    if (!is_space(next.value)) break;
    bytes += next.bytes;
  }
  return bytes;
}

}  // namespace temper::policy
