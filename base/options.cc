#include "base/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/error.h"

namespace temper {
namespace {

// Keeps the dotted path of the section being visited.
class PathVisitor : public OptionVisitor {
 protected:
  void begin_section(std::string_view name, std::string_view) override { path_.emplace_back(name); }
  void end_section() override { path_.pop_back(); }
  std::string key(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", fmt::join(path_, "."), name);
  }
  std::vector<std::string> path_;
};

// Funnels the overloads into one template method of the derived class.
template <class Derived>
class UniformVisitor : public PathVisitor {
 public:
  void option(std::string_view n, bool& v, OptionInfo i) override { self().visit(n, v, i); }
  void option(std::string_view n, int64_t& v, OptionInfo i) override { self().visit(n, v, i); }
  void option(std::string_view n, double& v, OptionInfo i) override { self().visit(n, v, i); }
  void option(std::string_view n, std::string& v, OptionInfo i) override { self().visit(n, v, i); }
  void option(std::string_view n, std::vector<int64_t>& v, OptionInfo i) override { self().visit(n, v, i); }
  void option(std::string_view n, std::vector<double>& v, OptionInfo i) override { self().visit(n, v, i); }
  void option(std::string_view n, std::vector<std::string>& v, OptionInfo i) override {
    self().visit(n, v, i);
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

template <class T>
constexpr std::string_view kTypeName = "";
template <>
constexpr std::string_view kTypeName<bool> = "true or false";
template <>
constexpr std::string_view kTypeName<int64_t> = "an integer";
template <>
constexpr std::string_view kTypeName<double> = "a number";
template <>
constexpr std::string_view kTypeName<std::string> = "a string";

template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<std::vector<T>> = true;

bool parse_scalar(const std::string& text, bool& value) {
  if (text != "true" && text != "false") return false;
  value = text == "true";
  return true;
}
bool parse_scalar(const std::string& text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}
bool parse_scalar(const std::string& text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}
bool parse_scalar(const std::string& text, std::string& value) {
  value = text;
  return true;
}

std::string allowed(const OptionInfo& info) {
  if (!info.choices.empty()) return fmt::format("one of {}", fmt::join(info.choices, ", "));
  const bool low = std::isfinite(info.min), high = std::isfinite(info.max);
  if (low && high) return fmt::format("{} to {}", info.min, info.max);
  if (low) return fmt::format("at least {}", info.min);
  return high ? fmt::format("at most {}", info.max) : "";
}

bool in_range(const std::string& value, const OptionInfo& info) {
  return info.choices.empty() ||
         std::find(info.choices.begin(), info.choices.end(), value) != info.choices.end();
}
bool in_range(bool, const OptionInfo&) { return true; }
template <class T>
bool in_range(T value, const OptionInfo& info) {
  return double(value) >= info.min && double(value) <= info.max;
}

std::string scalar_text(const std::string& value) {
  YAML::Emitter out;
  out << YAML::DoubleQuoted << value;
  const bool plain = !value.empty() && value.find_first_not_of(
                                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789_/.+-") == std::string::npos;
  const bool word = value != "null" && value.front() != '-' && value.front() != '.';
  return plain && word ? value : out.c_str();
}
std::string scalar_text(bool value) { return value ? "true" : "false"; }
template <class T>
std::string scalar_text(T value) {
  return fmt::format("{}", value);
}
template <class T>
std::string value_text(const T& value) {
  if constexpr (kIsList<T>) {
    std::vector<std::string> parts;
    for (const auto& v : value) parts.push_back(scalar_text(v));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  } else {
    return scalar_text(value);
  }
}

struct KeyCollector : UniformVisitor<KeyCollector> {
  std::vector<std::string> keys;
  template <class T>
  void visit(std::string_view name, T&, const OptionInfo&) {
    keys.push_back(key(name));
  }
};

// Sets each option that has a node in `nodes`, and reports what does not fit.
struct Setter : UniformVisitor<Setter> {
  Setter(const std::map<std::string, YAML::Node>& n, Problems& p) : nodes(n), problems(p) {}
  const std::map<std::string, YAML::Node>& nodes;
  Problems& problems;

  template <class T>
  void visit(std::string_view name, T& value, const OptionInfo& info) {
    const std::string k = key(name);
    const auto found = nodes.find(k);
    if (found == nodes.end()) return;
    const YAML::Node& node = found->second;
    if constexpr (kIsList<T>) {
      if (!node.IsSequence()) return wrong(k, node, "a list, like [a, b]");
      T list;
      for (const auto& item : node) {
        typename T::value_type element{};
        if (!set(k, item, element, info)) return;
        list.push_back(element);
      }
      value = list;
    } else {
      T parsed{};
      if (set(k, node, parsed, info)) value = parsed;
    }
  }

 private:
  template <class T>
  bool set(const std::string& k, const YAML::Node& node, T& value, const OptionInfo& info) {
    if (!node.IsScalar() || !parse_scalar(node.Scalar(), value)) {
      wrong(k, node, kTypeName<T>);
      return false;
    }
    if (in_range(value, info)) return true;
    problems.add(k, fmt::format("'{}' is not allowed: must be {}", node.Scalar(), allowed(info)));
    return false;
  }
  void wrong(const std::string& k, const YAML::Node& node, std::string_view type) {
    const std::string got = node.IsScalar() ? fmt::format("'{}'", node.Scalar())
                            : node.IsMap()  ? "a map"
                                            : "a list";
    problems.add(k, fmt::format("{} is not {}", node.IsNull() ? "nothing" : got, type));
  }
};

void flatten(const YAML::Node& node, const std::string& prefix, const std::string& path,
             const std::set<std::string>& sections, std::map<std::string, YAML::Node>& nodes,
             Problems& problems) {
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string k = prefix.empty() ? entry.first.Scalar() : prefix + "." + entry.first.Scalar();
    const std::string origin = fmt::format("{}:{}", path, entry.first.Mark().line + 1);
    if (!seen.insert(k).second) problems.add(k, fmt::format("given twice, again at {}", origin));
    problems.note_origin(k, origin);
    if (entry.second.IsMap() && sections.count(k))
      flatten(entry.second, k, path, sections, nodes, problems);
    else if (!(entry.second.IsNull() && sections.count(k)))
      nodes[k] = entry.second;
  }
}

void read_file_nodes(const std::string& path, const std::set<std::string>& sections,
                     std::map<std::string, YAML::Node>& nodes, Problems& problems) {
  YAML::Node root;
  try {
    if (std::filesystem::is_directory(path)) throw ConfigError("config {}: is a folder", path);
    root = YAML::LoadFile(path);
  } catch (const YAML::BadFile&) {
    throw ConfigError("config {}: cannot be read", path);
  } catch (const YAML::Exception& e) {
    throw ConfigError("{}:{}: not valid YAML: {}", path, e.mark.line + 1, e.msg);
  }
  if (root.IsNull()) return;
  if (!root.IsMap()) throw ConfigError("{}: must be a map of options", path);
  flatten(root, "", path, sections, nodes, problems);
}

void read_override(const std::string& word, std::map<std::string, YAML::Node>& nodes, Problems& problems) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) {
    problems.add(word, "not of the form key=value");
    return;
  }
  const std::string k = word.substr(0, equals);
  problems.note_origin(k, "command line");
  try {
    nodes[k] = YAML::Load(word.substr(equals + 1));
    if (nodes[k].IsNull()) nodes[k] = YAML::Node(std::string());
  } catch (const YAML::Exception& e) {
    problems.add(k, fmt::format("'{}' is not valid YAML: {}", word.substr(equals + 1), e.msg));
  }
}

struct YamlWriter : UniformVisitor<YamlWriter> {
  std::string text;
  template <class T>
  void visit(std::string_view name, T& value, const OptionInfo&) {
    text += fmt::format("{}{}: {}\n", indent(), name, value_text(value));
  }

 protected:
  std::string indent() const { return std::string(2 * path_.size(), ' '); }
  void begin_section(std::string_view name, std::string_view help) override {
    text += fmt::format("{}{}:\n", indent(), name);
    PathVisitor::begin_section(name, help);
  }
};

struct MapWriter : UniformVisitor<MapWriter> {
  std::map<std::string, std::string> values;
  template <class T>
  void visit(std::string_view name, T& value, const OptionInfo&) {
    values[key(name)] = value_text(value);
  }
};

std::string with_unit(const OptionInfo& info) {
  std::vector<std::string> parts;
  if (!info.unit.empty()) parts.emplace_back(info.unit);
  if (const std::string range = allowed(info); !range.empty()) parts.push_back(range);
  return fmt::format("{}", fmt::join(parts, "; "));
}

struct HelpWriter : UniformVisitor<HelpWriter> {
  std::string text;
  template <class T>
  void visit(std::string_view name, T& value, const OptionInfo& info) {
    const std::string unit = with_unit(info);
    text += fmt::format("  {}={}\n      {}{}\n", key(name), value_text(value), info.help,
                        unit.empty() ? "" : fmt::format(" [{}]", unit));
  }

 protected:
  void begin_section(std::string_view name, std::string_view help) override {
    text += fmt::format("\n{}: {}\n", key(name), help);
    PathVisitor::begin_section(name, help);
  }
};

struct MarkdownWriter : UniformVisitor<MarkdownWriter> {
  std::string text = "| option | default | unit, range | what it does |\n|---|---|---|---|\n";
  template <class T>
  void visit(std::string_view name, T& value, const OptionInfo& info) {
    text +=
        fmt::format("| `{}` | `{}` | {} | {} |\n", key(name), value_text(value), with_unit(info), info.help);
  }
};

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

void Problems::add(std::string_view key, std::string text) {
  const auto origin = origins_.find(key);
  texts_.push_back(origin == origins_.end() ? fmt::format("{}: {}", key, text)
                                            : fmt::format("{}: {}: {}", origin->second, key, text));
}

void Problems::note_origin(std::string key, std::string origin) {
  origins_[std::move(key)] = std::move(origin);
}

void Problems::throw_if_any() const {
  if (!texts_.empty()) throw ConfigError("{}", fmt::join(texts_, "\n"));
}

void read_options(const VisitOptions& visit, const std::string& path,
                  const std::vector<std::string>& overrides, Problems& problems) {
  KeyCollector known;
  visit(known);
  std::set<std::string> sections;
  for (const auto& k : known.keys)
    for (size_t dot = k.find('.'); dot != std::string::npos; dot = k.find('.', dot + 1))
      sections.insert(k.substr(0, dot));

  std::map<std::string, YAML::Node> nodes;
  if (!path.empty()) read_file_nodes(path, sections, nodes, problems);
  for (const auto& word : overrides) read_override(word, nodes, problems);

  std::vector<std::string> names = known.keys;
  names.insert(names.end(), sections.begin(), sections.end());
  for (const auto& [k, node] : nodes) {
    if (std::find(known.keys.begin(), known.keys.end(), k) != known.keys.end()) continue;
    const std::string near = nearest_name(k, names);
    if (sections.count(k))
      problems.add(k, "is a section, not an option");
    else
      problems.add(k,
                   near.empty() ? "unknown option" : fmt::format("unknown option; did you mean {}?", near));
  }
  Setter setter(nodes, problems);
  visit(setter);
}

std::string options_to_yaml(const VisitOptions& visit) {
  YamlWriter writer;
  visit(writer);
  return writer.text;
}

std::map<std::string, std::string> options_to_map(const VisitOptions& visit) {
  MapWriter writer;
  visit(writer);
  return writer.values;
}

std::string options_to_help(const VisitOptions& visit) {
  HelpWriter writer;
  visit(writer);
  return writer.text;
}

std::string options_to_markdown(const VisitOptions& visit) {
  MarkdownWriter writer;
  visit(writer);
  return writer.text;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = std::max<size_t>(3, name.size() / 3) + 1;
  for (const auto& candidate : known) {
    // The last part alone may be what was meant: `lr` for `optimizer.lr`.
    const std::string_view leaf = std::string_view(candidate).substr(candidate.rfind('.') + 1);
    const size_t distance = std::min(edit_distance(name, candidate), leaf == name ? 1 : best_distance);
    if (distance < best_distance) best = candidate, best_distance = distance;
  }
  return best;
}

}  // namespace temper
