#include "base/input/yaml_binder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/input/near_names.h"
#include "base/input/scalars.h"

namespace temper {
namespace {

template <class T>
bool bind_scalar(const YAML::Node& node, T& value) {
  return node.IsScalar() && parse_scalar(node.Scalar(), value);
}

}  // namespace

std::string yaml_text(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  YAML::Emitter out;
  out << YAML::Flow << node;
  return out.c_str();
}

void check_yaml_keys(const YAML::Node& map, const std::vector<std::string>& known, const std::string& prefix,
                     const YamlProblem& problem) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = entry.first.Scalar();
    if (!seen.insert(key).second) problem(entry.first, prefix + key, "given twice");
    if (std::ranges::count(known, key) > 0) continue;
    const std::string near = did_you_mean(key, known);
    problem(entry.first, prefix + key,
            "unknown key" + (near.empty() ? fmt::format("; known: {}", fmt::join(known, ", ")) : near));
  }
}

void flatten_yaml(const YAML::Node& map, const std::string& prefix, const YamlEntry& take,
                  const YamlProblem& problem) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = prefix + entry.first.Scalar();
    if (!seen.insert(key).second) problem(entry.first, key, "given twice");
    if (entry.second.IsMap())
      flatten_yaml(entry.second, key + ".", take, problem);
    else
      take(key, entry.first, entry.second);
  }
}

std::string not_allowed(const YAML::Node& node, const char* expected) {
  return fmt::format("'{}' is not allowed; expected {}", yaml_text(node), expected);
}

bool bind_yaml(const YAML::Node& node, bool& value) { return bind_scalar(node, value); }
bool bind_yaml(const YAML::Node& node, int64_t& value) { return bind_scalar(node, value); }
bool bind_yaml(const YAML::Node& node, double& value) { return bind_scalar(node, value); }
bool bind_yaml(const YAML::Node& node, std::string& value) { return bind_scalar(node, value); }

}  // namespace temper
