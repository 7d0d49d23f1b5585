#include "base/input/printable.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

namespace temper {
namespace {

bool shows(utf8proc_int32_t point) {
  switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_CN:  // not assigned
    case UTF8PROC_CATEGORY_CC:  // control characters
    case UTF8PROC_CATEGORY_CF:  // direction of writing, joiners
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string printable(std::string_view text, size_t most_bytes) {
  std::string shown;
  size_t at = 0;
  while (at < text.size()) {
    utf8proc_int32_t point = 0;
    const auto used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                       utf8proc_ssize_t(text.size() - at), &point);
    const auto bytes = size_t(std::max<utf8proc_ssize_t>(used, 1));
    if (at + bytes > most_bytes) break;
    const std::string_view character = text.substr(at, bytes);
    if (used > 0 && shows(point))
      shown += character;
    else
      for (const char c : character) shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    at += bytes;
  }
  return at < text.size() ? shown + "..." : shown;
}

}  // namespace temper
