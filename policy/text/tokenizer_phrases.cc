#include "policy/text/tokenizer_phrases.h"

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/rng.h"

namespace temper::policy {
namespace {

constexpr size_t kBefore = 3;      // atoms that what follows is judged by
constexpr int64_t kSeen = 20;      // times these must have been seen
constexpr double kCertain = 0.95;  // share of the commonest continuation

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c & 0x80; }

// A word with the space before it, a line's end with the next line's indentation, or one other character.
size_t atom_length(std::string_view text) {
  size_t n = text[0] == ' ' && text.size() > 1 && text[1] != ' ' ? 1 : 0;
  if (text[n] == '\n') {
    const size_t end = text.find_first_not_of(" \n", n);
    return end == std::string_view::npos ? text.size() : end;
  }
  if (!is_letter(text[n])) return n + 1;
  while (n < text.size() && is_letter(text[n])) ++n;
  return n;
}

std::vector<std::string_view> atoms(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const size_t length = atom_length(text);
    all.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return all;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether a digit behind a decimal point begins at `at`.
bool in_fraction(const std::vector<std::string_view>& all, size_t at) {
  const auto digit = [&](size_t k) { return all[k].size() == 1 && is_digit(all[k][0]); };
  if (!digit(at)) return false;
  while (at > 0 && digit(at - 1)) --at;
  return at > 0 && all[at - 1] == ".";
}

// Such digits stay alone, so that numbers can be copied that were never seen.
bool may_join(const std::vector<std::string_view>& all, size_t at) {
  return !in_fraction(all, at) && (at == 0 || !in_fraction(all, at - 1));
}

uint64_t key(const std::vector<std::string_view>& all, size_t begin, size_t end) {
  uint64_t mixed = end - begin;
  for (size_t k = begin; k < end; ++k) mixed = mix_key({mixed, std::hash<std::string_view>{}(all[k])});
  return mixed;
}

}  // namespace

std::vector<std::string> phrases(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::string_view>> cut;
  for (const auto& text : texts) cut.push_back(atoms(text));
  std::unordered_map<uint64_t, int64_t> before, together;
  for (const auto& all : cut) {
    for (size_t k = kBefore; k < all.size(); ++k) {
      ++before[key(all, k - kBefore, k)];
      ++together[key(all, k - kBefore, k + 1)];
    }
  }
  std::vector<std::string> found;
  for (const auto& all : cut) {
    for (size_t k = 0; k < all.size(); ++k) {
      const int64_t seen = k < kBefore ? 0 : before[key(all, k - kBefore, k)];
      const bool certain = seen >= kSeen && may_join(all, k) &&
                           double(together[key(all, k - kBefore, k + 1)]) >= kCertain * double(seen);
      if (certain)
        found.back() += all[k];
      else
        found.emplace_back(all[k]);
    }
  }
  return found;
}

}  // namespace temper::policy
