#include "base/input/utf8.h"

#include <utf8proc.h>

#include <cstdint>
#include <cstring>

namespace temper {
namespace {

// Bytes at the front that are ASCII, eight at a time.
size_t ascii_prefix(std::string_view text) {
  size_t n = 0;
  for (uint64_t word; n + sizeof word <= text.size(); n += sizeof word) {
    std::memcpy(&word, text.data() + n, sizeof word);
    if (word & 0x8080808080808080ull) break;
  }
  while (n < text.size() && uint8_t(text[n]) < 0x80) ++n;
  return n;
}

}  // namespace

size_t valid_utf8_prefix(std::string_view text) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  size_t n = 0;
  while (n < text.size()) {
    if (const size_t plain = ascii_prefix(text.substr(n)); plain > 0) {
      n += plain;
      continue;
    }
    utf8proc_int32_t point = 0;
    const auto used = utf8proc_iterate(bytes + n, utf8proc_ssize_t(text.size() - n), &point);
    if (used <= 0) break;
    n += size_t(used);
  }
  return n;
}

}  // namespace temper
