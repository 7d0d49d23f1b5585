#include "base/input/wrapped.h"

#include <algorithm>

namespace temper {

size_t columns_of(std::string_view text) {
  return size_t(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string wrapped(std::string_view text, size_t width, size_t indent) {
  return std::string(indent, ' ').append(wrapped(text, width, indent, indent));
}

std::string wrapped(std::string_view text, size_t width, size_t indent, size_t first_at) {
  std::string lines;
  size_t column = first_at;
  bool begun = false;
  const auto begin_line = [&] {
    lines += '\n';
    lines.append(indent, ' ');
    column = indent;
    begun = false;
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const size_t columns = columns_of(word);
    if (begun && column + 1 + columns > width) begin_line();
    if (!word.empty()) {
      if (begun) lines += ' ';
      lines += word;
      column += columns + begun;
      begun = true;
    }
    if (end < text.size() && text[end] == '\n') begin_line();
    at = end + 1;
  }
  return lines;
}

}  // namespace temper
