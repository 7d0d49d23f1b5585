#include "policy/text/pieces/neighbours.h"

#include "policy/text/pieces/characters.h"

namespace temper::policy {
namespace {

uint64_t key_of(char32_t left, char32_t right) { return uint64_t(left) << 32 | right; }

}  // namespace

void Neighbours::add(std::string_view piece) {
  if (piece.empty()) return;
  Character left = first_of(piece);
  for (piece.remove_prefix(left.bytes); !piece.empty(); piece.remove_prefix(left.bytes)) {
    const Character right = first_of(piece);
    if (left.point < 128 && right.point < 128)
      ascii_.set(left.point * 128 + right.point);
    else
      others_.insert(key_of(left.point, right.point));
    left = right;
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
