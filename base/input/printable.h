#pragma once
// Strangers' text in our messages.

#include <cstddef>
#include <string>
#include <string_view>

namespace temper {

// At most so many bytes of a stranger's text. What is not valid UTF-8, and characters that move the cursor,
// turn the direction of writing or show nothing, stand as \xNN: a name cannot pose as a terminal's command or
// as another.
std::string printable(std::string_view text, size_t most_bytes = 80);

}  // namespace temper
