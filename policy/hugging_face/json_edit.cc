#include "policy/hugging_face/json_edit.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace temper::policy {
namespace {

constexpr std::string_view kSpace = " \t\n\r";

struct Span {
  size_t begin, end;
};

// Behind the string that begins at `at`.
size_t string_end(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

// Behind the value that begins at `at`.
size_t value_end(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
    if (c == '"') {
      at = string_end(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return text.find_last_not_of(kSpace, at - 1) + 1;
}

// Where the outermost key's value stands.
std::optional<Span> find(std::string_view text, std::string_view key) {
  size_t at = text.find('{') + 1;
  while (true) {
    at = text.find('"', at);
    if (at == std::string_view::npos) return std::nullopt;
    const size_t name_end = std::min(string_end(text, at), text.size());
    const auto name = nlohmann::json::parse(text.substr(at, name_end - at), nullptr, false);
    const size_t colon = text.find(':', name_end);
    if (colon == std::string_view::npos) return std::nullopt;
    const size_t begin = std::min(text.find_first_not_of(kSpace, colon + 1), text.size()),
                 end = value_end(text, begin);
    if (name == key) return Span{begin, end};
    at = end;
  }
}

}  // namespace

std::string with_json_value(const std::string& text, std::string_view key, const std::string& value) {
  std::string changed = text;
  if (const auto span = find(text, key)) return changed.replace(span->begin, span->end - span->begin, value);
  const size_t close = text.rfind('}'), last = text.find_last_not_of(kSpace, close - 1);
  const std::string entry = nlohmann::json(key).dump() + ": " + value;
  return changed.replace(last + 1, close - last - 1, (text[last] == '{' ? "\n  " : ",\n  ") + entry + "\n");
}

std::string json_value_text(const std::string& text, std::string_view key) {
  const auto span = find(text, key);
  return span ? text.substr(span->begin, span->end - span->begin) : "";
}

}  // namespace temper::policy
