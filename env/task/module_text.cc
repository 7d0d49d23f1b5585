#include "env/task/module_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/input/utf8.h"

namespace temper::env {
namespace {

constexpr size_t kMostSourceBytes = 1 << 20, kMostNameBytes = 100;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The end of the string literal that begins at `at`. A literal of one line that is not closed ends with its line.
size_t end_of_string(std::string_view source, size_t at) {
  const char quote = source[at];
  const bool triple = source.substr(at, 3) == std::string(3, quote);
  for (size_t i = at + (triple ? 3 : 1); i < source.size(); ++i) {
    if (source[i] == '\\') {
      ++i;
    } else if (triple ? source.substr(i, 3) == std::string(3, quote) : source[i] == quote) {
      return i + (triple ? 3 : 1);
    } else if (!triple && source[i] == '\n') {
      return i;
    }
  }
  return source.size();
}

std::string_view word_at(std::string_view text) {
  return text.substr(0, size_t(std::ranges::find_if_not(text, is_word) - text.begin()));
}

std::string_view without_spaces(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// The name that a line at the left margin defines, or "".
std::string defined_by(std::string_view line) {
  const std::string_view first = word_at(line), rest = without_spaces(line.substr(first.size()));
  if (first == "class" || first == "def") return std::string(word_at(rest));
  const bool assigned = (rest.starts_with('=') && !rest.starts_with("==")) || rest.starts_with(':');
  return assigned ? std::string(first) : "";
}

}  // namespace

std::set<std::string> top_level_names(std::string_view source) {
  std::set<std::string> names;
  bool margin = true;
  for (size_t at = 0; at < source.size();) {
    const char c = source[at];
    if (margin && is_word(c)) names.insert(defined_by(source.substr(at, source.find('\n', at) - at)));
    margin = c == '\n';
    if (c == '"' || c == '\'') {
      at = end_of_string(source, at);
    } else if (c == '#') {
      at = std::min(source.find('\n', at), source.size());
    } else {
      ++at;
    }
  }
  names.erase("");
  return names;
}

std::string module_problem_lacks(std::string_view source) {
  if (source.size() > kMostSourceBytes)
    return fmt::format("{} bytes; at most {} are read", source.size(), kMostSourceBytes);
  if (source.find('\0') != std::string_view::npos) return "it holds a NUL";
  if (const size_t valid = valid_utf8_prefix(source); valid < source.size())
    return fmt::format("byte {} is not UTF-8", valid);
  const std::set<std::string> names = top_level_names(source);
  if (!names.contains("Model")) return "no class Model";
  for (const char* function : {"get_inputs", "get_init_inputs"})
    if (!names.contains(function)) return fmt::format("no {}()", function);
  return "";
}

std::string task_name_part(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kMostNameBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool kept = byte < 0x80 && std::isalnum(byte);
    if (kept || !name.ends_with('_')) name += kept ? char(std::tolower(byte)) : '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

}  // namespace temper::env
