#include "base/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/input/home.h"
#include "base/input/printable.h"
#include "base/input/wrapped.h"
#include "base/input/yaml.h"
#include "base/input/yaml_binder.h"

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
  void option(std::string_view n, OptionMap& v, OptionInfo i) override { self().visit(n, v, i); }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

struct MayChange : UniformVisitor<MayChange> {
  std::set<std::string> keys;

  template <class T>
  void visit(std::string_view name, T&, const OptionInfo& info) {
    if (info.may_change) keys.insert(key(name));
  }
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

constexpr std::string_view kPathType =
    "a path; \"~\" in quotes is the home folder, as YAML reads ~ alone as nothing";

template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<std::vector<T>> = true;

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
// Paths alone begin with what stands for a home.
void expand(std::string& value, const OptionInfo& info) {
  if (info.text == TextKind::kPath) value = expand_home(value);
}
template <class T>
void expand(T&, const OptionInfo&) {}

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
  const bool word = plain && value != "null" && value.front() != '-' && value.front() != '.';
  return word ? value : out.c_str();
}
std::string scalar_text(bool value) { return value ? "true" : "false"; }
template <class T>
std::string scalar_text(T value) {
  return fmt::format("{}", value);
}
template <class T>
std::string value_text(const T& value) {
  if constexpr (std::is_same_v<T, OptionMap>) {
    std::vector<std::string> parts;
    for (const auto& [name, json] : value) parts.push_back(fmt::format("{}: {}", scalar_text(name), json));
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  } else if constexpr (kIsList<T>) {
    std::vector<std::string> parts;
    for (const auto& v : value) parts.push_back(scalar_text(v));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  } else {
    return scalar_text(value);
  }
}

// A value as JSON has it; a word that is quoted is a text, whatever it looks like.
std::string json_of(const YAML::Node& node) {
  if (node.IsMap() || node.IsSequence()) {
    std::vector<std::string> parts;
    for (const auto& entry : node)
      parts.push_back(node.IsMap()
                          ? nlohmann::json(entry.first.Scalar()).dump() + ": " + json_of(entry.second)
                          : json_of(entry));
    return fmt::format(fmt::runtime(node.IsMap() ? "{{{}}}" : "[{}]"), fmt::join(parts, ", "));
  }
  bool truth = false;
  int64_t whole = 0;
  double number = 0;
  if (node.IsNull()) return "null";
  if (node.Tag() != "!") {
    if (bind_yaml(node, truth)) return truth ? "true" : "false";
    if (bind_yaml(node, whole)) return fmt::format("{}", whole);
    if (bind_yaml(node, number)) return nlohmann::json(number).dump();
  }
  return nlohmann::json(node.Scalar()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Of a map, or of a text that is one, as a shell's quotes make it.
std::optional<OptionMap> json_entries(const YAML::Node& node) {
  if (node.IsScalar() && node.Scalar().empty()) return OptionMap{};
  if (node.IsScalar() && node.Scalar().starts_with('{')) try {
      return json_entries(YAML::Load(node.Scalar()));
    } catch (const YAML::Exception&) {
      return std::nullopt;
    }
  if (!node.IsMap()) return std::nullopt;
  OptionMap map;
  for (const auto& entry : node) map[entry.first.Scalar()] = json_of(entry.second);
  return map;
}

struct KeyCollector : UniformVisitor<KeyCollector> {
  std::vector<std::string> keys;
  template <class T>
  void visit(std::string_view name, T&, const OptionInfo& info) {
    keys.push_back(key(name));
    constexpr bool kText = std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>;
    TEMPER_CHECK(!kText || !info.choices.empty() || info.text != TextKind::kUnsaid, "{} is a name or a path",
                 keys.back());
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
    if constexpr (std::is_same_v<T, OptionMap>) {
      if (auto map = json_entries(node))
        value = std::move(*map);
      else
        wrong(k, node, "a map, like {enable_thinking: false}");
    } else if constexpr (kIsList<T>) {
      T list;
      if (node.IsScalar()) return set_only(k, node, value, info);
      if (!node.IsSequence()) return wrong(k, node, "a list, like [a, b]");
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
  // One value is a list of one, and nothing a list of none.
  template <class T>
  void set_only(const std::string& k, const YAML::Node& node, std::vector<T>& value, const OptionInfo& info) {
    T element{};
    if (node.Scalar().empty())
      value.clear();
    else if (set(k, node, element, info))
      value = {element};
  }
  template <class T>
  bool set(const std::string& k, const YAML::Node& node, T& value, const OptionInfo& info) {
    if (!bind_yaml(node, value)) {
      wrong(k, node, info.text == TextKind::kPath ? kPathType : kTypeName<T>);
      return false;
    }
    try {
      expand(value, info);
    } catch (const ConfigError& e) {
      problems.add(k, e.what());
      return false;
    }
    if (in_range(value, info)) return true;
    problems.add(k, fmt::format("'{}' is not allowed: must be {}", printable(node.Scalar()), allowed(info)));
    return false;
  }
  void wrong(const std::string& k, const YAML::Node& node, std::string_view type) {
    const std::string got = node.IsScalar() ? fmt::format("'{}'", printable(node.Scalar()))
                            : node.IsMap()  ? "a map"
                                            : "a list";
    problems.add(k, fmt::format("{} is not {}", node.IsNull() ? "nothing" : got, type));
  }
};

using Entry = std::pair<YAML::Node, YAML::Node>;

// The maps that a map's merge keys name. What is no map is reported.
std::vector<YAML::Node> merged_into(const YAML::Node& map, const std::string& where, Problems& problems) {
  std::vector<YAML::Node> merged;
  const auto add = [&](const YAML::Node& node) {
    if (node.IsMap())
      merged.push_back(node);
    else
      problems.add(fmt::format("{}:{}", where, node.Mark().line + 1),
                   "<< takes a map or a list of maps, like *name");
  };
  for (const auto& entry : map) {
    if (entry.first.Scalar() != "<<") continue;
    if (entry.second.IsSequence())
      for (const auto& node : entry.second) add(node);
    else
      add(entry.second);
  }
  return merged;
}

// A map's entries: its own, then what its merge keys bring along and it does not say itself.
std::vector<Entry> entries_of(const YAML::Node& map, const std::string& where, Problems& problems) {
  std::vector<Entry> entries;
  std::set<std::string> names;
  for (const auto& entry : map) {
    if (entry.first.Scalar() == "<<") continue;
    entries.emplace_back(entry.first, entry.second);
    names.insert(entry.first.Scalar());
  }
  for (const YAML::Node& other : merged_into(map, where, problems))
    for (const Entry& entry : entries_of(other, where, problems))
      if (names.insert(entry.first.Scalar()).second) entries.push_back(entry);
  return entries;
}

struct Flattened {
  const std::string& path;
  const std::set<std::string>& sections;
  std::map<std::string, YAML::Node>& nodes;
  Problems& problems;

  void add(const YAML::Node& node, const std::string& prefix, bool foreign) {
    std::set<std::string> seen;
    for (const auto& [name, value] : entries_of(node, path, problems)) {
      const std::string k = prefix.empty() ? name.Scalar() : prefix + "." + name.Scalar();
      const std::string origin = fmt::format("{}:{}", path, name.Mark().line + 1);
      if (!seen.insert(k).second) problems.add(k, fmt::format("given twice, again at {}", origin));
      problems.note_origin(k, origin);
      const bool others = foreign || sections.count(k + ".");
      if (value.IsMap() && (others || sections.count(k)))
        add(value, k, others);
      else if (!(value.IsNull() && sections.count(k)))
        nodes[k] = value;
    }
  }
};

// A pipe, such as a shell's <(…), is as good as a file.
YAML::Node read_config_yaml(const std::string& path) {
  constexpr size_t kMostBytes = 1 << 20;
  if (!std::filesystem::is_fifo(path)) return read_yaml(path);
  std::ifstream pipe(path, std::ios::binary);
  std::string text;
  for (char c = 0; text.size() <= kMostBytes && pipe.get(c);) text += c;
  if (text.size() > kMostBytes) throw ConfigError("config {}: is more than {} bytes", path, kMostBytes);
  return parse_yaml(text, path);
}

void read_file_nodes(const std::string& path, const std::set<std::string>& sections,
                     std::map<std::string, YAML::Node>& nodes, Problems& problems) {
  if (std::filesystem::is_directory(path)) throw ConfigError("config {}: is a folder", path);
  if (!std::filesystem::exists(path))
    throw ConfigError("config {}: cannot be read: there is no such file", path);
  const YAML::Node root = read_config_yaml(path);
  if (root.IsNull()) return;
  if (!root.IsMap()) throw ConfigError("{}: must be a map of options", path);
  Flattened{path, sections, nodes, problems}.add(root, "", false);
}

// Lists, maps and quoted texts are YAML. Others stand as they are: in a shell '#' begins no comment, and ': ' no map.
YAML::Node node_of_word(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);
  if (text == "null") text = "";
  const bool is_yaml =
      !text.empty() && std::string_view("[{\"'").find(text.front()) != std::string_view::npos;
  return is_yaml ? YAML::Load(std::string(text)) : YAML::Node(std::string(text));
}

void read_override(const std::string& word, std::map<std::string, YAML::Node>& nodes, Problems& problems) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) {
    problems.add(printable(word), "not of the form key=value");
    return;
  }
  const std::string k = word.substr(0, equals);
  problems.note_origin(k, "command line");
  try {
    nodes[k] = node_of_word(std::string_view(word).substr(equals + 1));
  } catch (const YAML::Exception& e) {
    problems.add(k, fmt::format("'{}' is not valid YAML: {}", printable(word.substr(equals + 1)), e.msg));
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
  HelpWriter(const WantOption& w, size_t wide) : wanted(w), width(wide) {}
  const WantOption& wanted;
  const size_t width;
  std::string text, heading;

  template <class T>
  void visit(std::string_view name, T& value, const OptionInfo& info) {
    const std::string k = key(name), unit = with_unit(info);
    if (wanted && !wanted(k, info.help)) return;
    text += std::exchange(heading, "") + fmt::format("  {}={}\n", k, value_text(value));
    text +=
        wrapped(fmt::format("{}{}", info.help, unit.empty() ? "" : fmt::format(" [{}]", unit)), width, 6) +
        "\n";
  }

 protected:
  void begin_section(std::string_view name, std::string_view help) override {
    heading = wrapped(fmt::format("{}: {}", key(name), help), width, 0);
    heading = "\n" + heading + "\n";
    PathVisitor::begin_section(name, help);
  }
  void end_section() override {
    heading.clear();
    PathVisitor::end_section();
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

std::string answer_to_other_name(std::string_view name, std::span<const OtherName> others) {
  const OtherName* found = nullptr;
  for (const OtherName& other : others) {
    const bool ends = name.size() > other.name.size() && name.ends_with(other.name) &&
                      name[name.size() - other.name.size() - 1] == '.';
    if (name == other.name || (ends && (!found || found->name.size() < other.name.size()))) found = &other;
    if (name == other.name) break;
  }
  if (!found) return "";
  if (found->ours.empty()) return std::string(found->note);
  return fmt::format("here it is {}{}{}", found->ours, found->note.empty() ? "" : ", ", found->note);
}

namespace {

std::set<std::string> sections_of(const std::vector<std::string>& keys, std::span<const OtherName> others) {
  std::set<std::string> sections;
  for (const auto& k : keys)
    for (size_t dot = k.find('.'); dot != std::string::npos; dot = k.find('.', dot + 1))
      sections.insert(k.substr(0, dot));
  for (const OtherName& other : others)
    if (other.name.ends_with('.')) sections.insert(std::string(other.name));
  return sections;
}

// What is known by exactly this name in another program, else a slip, else such a name in some section.
std::string about_unknown(const std::string& k, const std::vector<std::string>& names,
                          std::span<const OtherName> others) {
  for (const OtherName& other : others)
    if (other.name == k) return fmt::format("; {}", answer_to_other_name(k, others));
  if (const std::string near = did_you_mean(k, names); !near.empty()) return near;
  const std::string answer = answer_to_other_name(k, others);
  return answer.empty() ? "" : fmt::format("; {}", answer);
}

}  // namespace

void read_options(const VisitOptions& visit, const std::string& path,
                  const std::vector<std::string>& overrides, Problems& problems,
                  std::span<const OtherName> others) {
  KeyCollector known;
  visit(known);
  const std::set<std::string> sections = sections_of(known.keys, others);
  std::map<std::string, YAML::Node> nodes;
  if (!path.empty()) read_file_nodes(path, sections, nodes, problems);
  for (const auto& word : overrides) read_override(word, nodes, problems);

  std::vector<std::string> names = known.keys;
  std::ranges::copy_if(sections, std::back_inserter(names),
                       [](const auto& name) { return !name.ends_with('.'); });
  for (const auto& [k, node] : nodes) {
    if (std::ranges::find(known.keys, k) != known.keys.end()) continue;
    if (sections.count(k))
      problems.add(k, "is a section, not an option");
    else
      problems.add(k, fmt::format("unknown option{}", about_unknown(k, names, others)));
  }
  Setter setter(nodes, problems);
  visit(setter);
}

std::string json_object(const OptionMap& map) {
  std::vector<std::string> parts;
  for (const auto& [name, json] : map) parts.push_back(nlohmann::json(name).dump() + ": " + json);
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
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

std::set<std::string> options_that_may_change(const VisitOptions& visit) {
  MayChange reader;
  visit(reader);
  return reader.keys;
}

std::string options_to_help(const VisitOptions& visit, const WantOption& wanted, size_t width) {
  HelpWriter writer(wanted, width);
  visit(writer);
  return writer.text;
}

std::string options_to_markdown(const VisitOptions& visit) {
  MarkdownWriter writer;
  visit(writer);
  return writer.text;
}

}  // namespace temper
