#include "policy/text/pieces/name_finder.h"

#include <algorithm>

#include "policy/text/pieces/characters.h"

namespace temper::policy {
namespace {

// The first content that ends behind `at`; null: there is none.
const TextRange* content_behind(std::span<const TextRange> contents, size_t at) {
  const auto found = std::ranges::upper_bound(contents, at, {}, &TextRange::end);
  return found == contents.end() ? nullptr : &*found;
}

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  return !ends_with_word(text.substr(0, begin)) && !starts_with_word(text.substr(end));
}

}  // namespace

NameFinder::NameFinder(std::vector<Name> names) : names_(std::move(names)) {
  std::erase_if(names_, [](const Name& name) { return name.text.empty(); });
  std::ranges::stable_sort(names_, {}, &Name::text);
  const auto same = [](const Name& a, const Name& b) { return a.text == b.text; };
  names_.erase(std::unique(names_.begin(), names_.end(), same), names_.end());
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string& text = names_[i].text;
    const auto first = uint8_t(text[0]);
    TextRange& range = by_byte_[first];
    if (range.end == 0) range.begin = i;
    range.end = i + 1;
    if (text.size() > 1) pairs_.set(size_t(first) << 8 | uint8_t(text[1]));
    if (text.size() > 1) continue;
    singles_.set(first);
    for (size_t second = 0; second < 256; ++second) pairs_.set(size_t(first) << 8 | second);
  }
}

// The next place at or behind `at` where a name may begin; the end of the text where there is none.
size_t NameFinder::candidate(std::string_view text, size_t at) const {
  for (; at + 1 < text.size(); ++at)
    if (pairs_[size_t(uint8_t(text[at])) << 8 | uint8_t(text[at + 1])]) return at;
  return at < text.size() && singles_[uint8_t(text[at])] ? at : text.size();
}

NameFinder::Match NameFinder::match(std::string_view text, size_t at, const Guard& guard) const {
  const TextRange* content = content_behind(guard.contents, at);
  const bool inside = content && content->begin <= at;
  const auto forbidden = [&](const Name& name) {
    return content && content->begin < at + name.text.size() && (*guard.control)[size_t(name.token.id)];
  };
  Match longest{nullptr, at + 1};
  bool refused = false;
  auto [low, high] = by_byte_[uint8_t(text[at])];
  for (size_t depth = 1; low < high; ++depth) {
    const Name& name = names_[low];  // the names [low, high) have the text's first `depth` bytes
    if (name.text.size() == depth) {
      if (!forbidden(name)) {
        longest = {&name.token, at + depth};
      } else {
        refused = true;
        // What begins outside of contents must not depend on them.
        if (inside) longest = {nullptr, std::min(at + depth, content->end)};
      }
      ++low;
    }
    if (at + depth >= text.size()) break;
    const auto byte = uint8_t(text[at + depth]);
    const auto begin = names_.begin() + std::ptrdiff_t(low), end = names_.begin() + std::ptrdiff_t(high);
    const auto byte_of = [depth](const Name& n) { return uint8_t(n.text[depth]); };
    low = size_t(std::ranges::lower_bound(begin, end, byte, {}, byte_of) - names_.begin());
    high = size_t(std::ranges::upper_bound(begin, end, byte, {}, byte_of) - names_.begin());
  }
  if (refused && !longest.token && guard.refused) ++*guard.refused;
  return longest;
}

std::vector<NameFinder::Found> NameFinder::find(std::string_view text, const Guard& guard) const {
  std::vector<Found> found;
  if (names_.empty()) return found;
  size_t taken = 0;  // the end of the last token, with its white space
  for (size_t at = 0; (at = candidate(text, at)) < text.size();) {
    const auto [token, end] = match(text, at, guard);
    if (token && (!token->single_word || stands_alone(text, at, end))) {
      size_t begin = at, stop = end;
      if (token->lstrip) begin = std::max(space_before(text.substr(0, at)), taken);
      if (token->rstrip) stop += space_after(text.substr(end));
      found.push_back({begin, stop, token});
      taken = stop;
    }
    at = end;
  }
  return found;
}

}  // namespace temper::policy
