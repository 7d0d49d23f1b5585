#pragma once
// Text in lines that fit a terminal.

#include <cstddef>
#include <string>
#include <string_view>

namespace temper {

// Each line of `text` broken between words so that it takes at most `width` columns, all lines but the first
// begun `indent` columns in; the first too unless `first_at` says in which column it already stands.
std::string wrapped(std::string_view text, size_t width, size_t indent);
std::string wrapped(std::string_view text, size_t width, size_t indent, size_t first_at);

// Columns of `text`: characters, not bytes.
size_t columns_of(std::string_view text);

}  // namespace temper
