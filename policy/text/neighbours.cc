#include "policy/text/neighbours.h"

#include <utf8proc.h>

namespace temper::policy {
namespace {

struct Character {
  char32_t point;
  size_t bytes;
};

Character first_of(std::string_view text) {
  if (uint8_t(text[0]) < 0x80) return {char32_t(text[0]), 1};
  utf8proc_int32_t point = 0;
  const auto used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     utf8proc_ssize_t(text.size()), &point);
  return used > 0 ? Character{char32_t(point), size_t(used)} : Character{uint8_t(text[0]), 1};
}

uint64_t key_of(char32_t left, char32_t right) { return uint64_t(left) << 32 | right; }

}  // namespace

void Neighbours::add(std::string_view piece) {
  for (char32_t left = 0; !piece.empty();) {
    const Character next = first_of(piece);
    if (left != 0 && left < 128 && next.point < 128)
      ascii_.set(left * 128 + next.point);
    else if (left != 0)
      others_.insert(key_of(left, next.point));
    left = next.point;
    piece.remove_prefix(next.bytes);
  }
}

bool Neighbours::contains(char32_t left, char32_t right) const {
  return left < 128 && right < 128 ? ascii_.test(left * 128 + right) : others_.contains(key_of(left, right));
}

size_t Neighbours::word(std::string_view text) const {
  if (text.empty()) return 0;
  Character last = first_of(text);
  size_t end = last.bytes;
  while (end < text.size()) {
    const Character next = first_of(text.substr(end));
    if (!contains(last.point, next.point)) break;
    last = next;
    end += next.bytes;
  }
  return end;
}

}  // namespace temper::policy
