#include "base/input/yaml.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/printable.h"
#include "base/input/utf8.h"

namespace temper {
namespace {

constexpr uint64_t kMostBytes = 16 << 20;
constexpr size_t kMostDepth = 64, kMostNodes = 1'000'000;
// Each value stands beside one of these. yaml-cpp keeps half a kilobyte of it.
constexpr std::string_view kSigns = "[{,:?-\n";
constexpr int64_t kMostSigns = 400'000;

// An alias shares its node, so that a few lines may stand for a tree without an end.
void check_tree(const YAML::Node& root, const std::string& where) {
  std::vector<std::pair<YAML::Node, size_t>> open = {{root, 0}};
  for (size_t seen = 0; !open.empty(); ++seen) {
    const auto [node, depth] = std::move(open.back());
    open.pop_back();
    const int line = node.Mark().line + 1;
    if (depth > kMostDepth)
      throw ConfigError("{}:{}: is nested more than {} deep, or an alias contains itself", where, line,
                        kMostDepth);
    if (seen + open.size() > kMostNodes)
      throw ConfigError("{}:{}: more than {} values, aliases followed", where, line, kMostNodes);
    for (const auto& entry : node) {
      if (node.IsMap()) open.emplace_back(entry.first, depth + 1);
      open.emplace_back(node.IsMap() ? entry.second : YAML::Node(entry), depth + 1);
    }
  }
}

// What stands in front of a line's first word.
std::string_view indent_of(std::string_view text, int line) {
  for (; line > 0 && text.find('\n') != std::string_view::npos; --line)
    text.remove_prefix(text.find('\n') + 1);
  return text.substr(0, text.find_first_not_of(" \t"));
}

// yaml-cpp calls it an illegal map value, or says nothing of it.
bool indented_by_tabs(const std::string& text, int line) {
  for (const int at : {line, line - 1})
    if (at >= 0 && indent_of(text, at).find('\t') != std::string_view::npos) return true;
  return false;
}

int64_t line_of(const std::string& text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + ptrdiff_t(at), '\n');
}

}  // namespace

YAML::Node parse_yaml(const std::string& text, const std::string& where) {
  if (const size_t valid = valid_utf8_prefix(text); valid < text.size())
    throw ConfigError("{}:{}: byte \\x{:02x} is not valid UTF-8", where, line_of(text, valid),
                      uint8_t(text[valid]));
  if (const size_t nul = text.find('\0'); nul != std::string::npos)
    throw ConfigError("{}:{}: holds a NUL", where, line_of(text, nul));
  const auto signs =
      std::ranges::count_if(text, [](char c) { return kSigns.find(c) != std::string_view::npos; });
  if (signs > kMostSigns) throw ConfigError("{}: more values than any such file has", where);
  try {
    const YAML::Node root = YAML::Load(text);
    check_tree(root, where);
    return root;
  } catch (const YAML::Exception& e) {
    if (indented_by_tabs(text, e.mark.line))
      throw ConfigError("{}:{}: not valid YAML: a tab cannot indent a line; use spaces", where,
                        e.mark.line + 1);
    throw ConfigError("{}:{}: not valid YAML: {}", where, e.mark.line + 1, printable(e.msg, 200));
  }
}

YAML::Node read_yaml(const std::filesystem::path& path) {
  return parse_yaml(read_input_file(path, kMostBytes), path.string());
}

}  // namespace temper
