#pragma once
// Finds the borders at which a text can be cut without changing its tokens.

#include <bitset>
#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace temper::policy {

// The pairs of neighbouring characters in a vocabulary's pieces. Between two characters that are neighbours
// in no piece every text has a border of tokens, so both sides can be encoded alone.
class Neighbours {
 public:
  void add(std::string_view piece);  // valid UTF-8
  // The number of bytes of `text` before the first such border, or of the whole text if there is none.
  size_t word(std::string_view text) const;

 private:
  bool contains(char32_t left, char32_t right) const;

  std::bitset<128 * 128> ascii_;
  std::unordered_set<uint64_t> others_;
};

}  // namespace temper::policy
