#pragma once
// The names of added tokens in a text.

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/text/pieces/added_tokens.h"
#include "policy/text/pieces/text_range.h"

namespace temper::policy {

// Finds names from left to right, of several that begin at one place the longest.
//
// Source: AddedVocabulary::find_matches of `tokenizers` 0.23.
class NameFinder {
 public:
  struct Name {
    std::string text;
    AddedToken token;
  };
  struct Found {
    size_t begin, end;  // with the white space that the token takes
    const AddedToken* token;
  };
  // What strangers wrote of a text, and which tokens they cannot name.
  struct Guard {
    std::span<const TextRange> contents;         // rising, apart
    const std::vector<bool>* control = nullptr;  // by id
    int64_t* refused = nullptr;                  // counts the names that did not become their tokens
  };

  // Of two equal texts the first counts.
  explicit NameFinder(std::vector<Name> names);
  bool empty() const { return names_.empty(); }
  // The tokens in `text`. A control token whose name overlaps contents is text: names that begin inside contents are
  // passed over, and others are as if the list had not had them.
  std::vector<Found> find(std::string_view text, const Guard& guard) const;

 private:
  struct Match {
    const AddedToken* token = nullptr;  // null: none
    size_t end = 0;                     // where to go on
  };

  size_t candidate(std::string_view text, size_t at) const;
  Match match(std::string_view text, size_t at, const Guard& guard) const;

  std::vector<Name> names_;             // sorted by text
  std::bitset<256 * 256> pairs_;        // the first two bytes of names
  std::bitset<256> singles_;            // names of one byte
  std::array<TextRange, 256> by_byte_;  // the names that begin with a byte
};

}  // namespace temper::policy
