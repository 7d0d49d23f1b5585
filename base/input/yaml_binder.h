#pragma once
// From YAML to what a program uses. What options, tasks, sweeps and saved configs differ in is where problems
// go. Brings yaml-cpp along.

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace temper {

// What does not fit is told here: it may throw, or note and return.
using YamlProblem =
    std::function<void(const YAML::Node& at, const std::string& field, const std::string& text)>;

// The value as it would stand on one line: a word bare, else [a, b] or {a: b}.
std::string yaml_text(const YAML::Node& node);

// Each key of a map must be known and given once. `prefix` stands in front of its name.
void check_yaml_keys(const YAML::Node& map, const std::vector<std::string>& known, const std::string& prefix,
                     const YamlProblem& problem);

// Each value below maps of maps, in order, by the names on the way: "a.b". A key given twice is a problem.
using YamlEntry =
    std::function<void(const std::string& key, const YAML::Node& name, const YAML::Node& value)>;
void flatten_yaml(const YAML::Node& map, const std::string& prefix, const YamlEntry& take,
                  const YamlProblem& problem);

// False where the node is no such value. One value is a list of one, an empty one a list of none.
bool bind_yaml(const YAML::Node& node, bool& value);
bool bind_yaml(const YAML::Node& node, int64_t& value);
bool bind_yaml(const YAML::Node& node, double& value);
bool bind_yaml(const YAML::Node& node, std::string& value);
template <class T>
bool bind_yaml(const YAML::Node& node, std::vector<T>& values) {
  values.clear();
  T value{};
  if (!node.IsSequence()) {
    if (node.IsScalar() && node.Scalar().empty()) return true;
    if (!bind_yaml(node, value)) return false;
    values.push_back(value);
    return true;
  }
  for (const auto& entry : node) {
    if (!bind_yaml(entry, value)) return false;
    values.push_back(value);
  }
  return true;
}

// "'[1, 2]' is not allowed; expected a number".
std::string not_allowed(const YAML::Node& node, const char* expected);

// What the node says; `fallback` where there is none, and, with a problem, where it is no such value.
template <class T>
T yaml_value(const YAML::Node& node, const std::string& field, const T& fallback, const char* expected,
             const YamlProblem& problem) {
  T value{};
  if (!node) return fallback;
  if (bind_yaml(node, value)) return value;
  problem(node, field, not_allowed(node, expected));
  return fallback;
}

}  // namespace temper
