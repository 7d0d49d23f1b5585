#pragma once
// Characters of UTF-8, and their classes as the regular expressions of `tokenizers` have them.

#include <cstddef>
#include <string_view>

namespace temper::policy {

struct Character {
  char32_t point;
  size_t bytes;
};

// The first character of a text that is not empty. A byte that is no UTF-8 stands for itself.
Character first_of(std::string_view text);

// Whether the text begins or ends with a character of a word (\w of Rust's regex: letters, marks, decimal digits,
// connecting punctuation, joiners). Bytes that are no UTF-8 are none.
bool starts_with_word(std::string_view text);
bool ends_with_word(std::string_view text);
// Where the white space at the end of the text begins.
size_t space_before(std::string_view text);
// The number of bytes of white space at the front of the text.
size_t space_after(std::string_view text);

}  // namespace temper::policy
