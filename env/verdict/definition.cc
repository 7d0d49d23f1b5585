#include "env/verdict/definition.h"

#include <algorithm>
#include <array>

namespace temper::env {
namespace {

constexpr size_t kLongestSignature = 4096;  // characters between the name and the body
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::array<std::string_view, 10> kBeforeCalls = {"return", "new",   "import", "from", "else",
                                                           "await",  "yield", "delete", "and",  "or"};

bool of_name(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The word that ends in front of `at`, over spaces, stars and references of the same line.
std::string_view word_before(std::string_view code, size_t at) {
  while (at > 0 &&
         (code[at - 1] == ' ' || code[at - 1] == '\t' || code[at - 1] == '*' || code[at - 1] == '&'))
    --at;
  const size_t end = at;
  while (at > 0 && of_name(code[at - 1])) --at;
  return code.substr(at, end - at);
}

std::string_view without_space(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
}

// Behind the parameters comes a body. Comments may stand between.
bool body_follows(std::string_view rest) {
  for (rest = without_space(rest); !rest.empty(); rest = without_space(rest)) {
    if (rest.starts_with("//")) {
      rest = rest.substr(std::min(rest.find('\n'), rest.size()));
    } else if (rest.starts_with("/*")) {
      const size_t end = rest.find("*/");
      rest = end == std::string_view::npos ? "" : rest.substr(end + 2);
    } else {
      return rest[0] == '{' || rest.starts_with("noexcept") || rest.starts_with("->") ||
             rest.starts_with("try");
    }
  }
  return false;
}

bool is_c_definition(std::string_view before, std::string_view rest) {
  if (before.empty() || std::ranges::find(kBeforeCalls, before) != kBeforeCalls.end()) return false;
  rest = without_space(rest.substr(0, kLongestSignature));
  if (rest.empty() || rest[0] != '(') return false;
  size_t depth = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '(') ++depth;
    if (rest[i] == ')' && --depth == 0) return body_follows(rest.substr(i + 1));
  }
  return false;
}

bool is_python_definition(std::string_view before, std::string_view line_before, std::string_view rest) {
  if (before == "def" || before == "class") return true;
  rest = rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return line_before.empty() && rest.starts_with('=') && !rest.starts_with("==");
}

}  // namespace

bool defines(std::string_view code, const Language& language) {
  const std::string_view name = language.entry_point;
  const bool python = language.form == Form::kPython || language.form == Form::kModule;
  for (size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + name.size())) {
    const size_t end = at + name.size();
    if ((at > 0 && of_name(code[at - 1])) || (end < code.size() && of_name(code[end]))) continue;
    const std::string_view before = word_before(code, at), rest = code.substr(end);
    const size_t line = at == 0 ? 0 : code.rfind('\n', at - 1) + 1;  // npos + 1 is 0
    if (python ? is_python_definition(before, code.substr(line, at - line), rest)
               : is_c_definition(before, rest))
      return true;
  }
  return false;
}

}  // namespace temper::env
