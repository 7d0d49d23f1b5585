#pragma once
// UTF-8.

#include <cstddef>
#include <string_view>

namespace temper {

// The number of bytes at the front of `text` that are valid UTF-8.
size_t valid_utf8_prefix(std::string_view text);

}  // namespace temper
