#include "trainer/app/sweep/sweep.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/input/home.h"
#include "base/input/yaml.h"
#include "base/input/yaml_binder.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMaxCells = 10000;  // more is a mistake in the grid

struct Setting {
  std::string key, value;
};
using Settings = std::vector<Setting>;

// What a file says, before it is multiplied out.
struct SweepFile {
  std::string path, base, dir;
  Settings common;
  std::vector<std::pair<std::string, Settings>> variants;  // (name, what it sets)
  std::vector<int64_t> seeds = {1};
  bool share_start = false;
};

class Reader {
 public:
  explicit Reader(const fs::path& path) : path_(path.string()) {}

  SweepFile read() {
    const YAML::Node root = load();
    check_yaml_keys(root, {"base", "set", "grid", "cells", "seeds", "share_start", "dir"}, "", problem_);
    SweepFile file;
    file.path = path_;
    file.dir = path_at(root, "dir", (fs::path("runs") / fs::path(path_).stem()).string());
    file.base = path_at(root, "base", "");
    if (file.base.empty()) fail(root, "base: is missing: the config that cells vary, relative to this file");
    if (fs::path(file.base).is_relative())
      file.base = (fs::path(path_).parent_path() / file.base).lexically_normal();
    if (root["set"]) file.common = settings(root["set"], "set");
    if (bool(root["grid"]) == bool(root["cells"])) fail(root, "give either grid or cells");
    file.variants = root["grid"] ? grid(root["grid"]) : cells(root["cells"]);
    if (root["seeds"]) file.seeds = seeds(root["seeds"]);
    file.share_start = yaml_value<bool>(root["share_start"], "share_start", false, "true or false", problem_);
    return file;
  }

 private:
  [[noreturn]] void fail(const YAML::Node& node, const std::string& what) const {
    throw ConfigError("{}:{}: {}", path_, node.Mark().line + 1, what);
  }

  YAML::Node load() const {
    if (fs::is_directory(path_)) throw ConfigError("sweep {}: is a folder", path_);
    if (!fs::exists(path_)) throw ConfigError("sweep {}: cannot be read", path_);
    const YAML::Node root = read_yaml(path_);
    if (!root.IsMap()) throw ConfigError("{}: must be a map: base, grid or cells, seeds", path_);
    return root;
  }

  std::string text(const YAML::Node& root, const char* key, const std::string& otherwise) const {
    return yaml_value<std::string>(root[key], key, otherwise, "a single value", problem_);
  }

  std::string path_at(const YAML::Node& root, const char* key, const std::string& otherwise) const try {
    return expand_home(text(root, key, otherwise));
  } catch (const ConfigError& e) {
    fail(root[key], fmt::format("{}: {}", key, e.what()));
  }

  Settings settings(const YAML::Node& node, const std::string& where) const {
    if (!node.IsMap()) fail(node, where + ": must be a map of options, like {run.steps: 10}");
    Settings all;
    // Dotted keys, or maps of sections as in a run's file.
    const auto take = [&](const std::string& key, const YAML::Node& name, const YAML::Node& value) {
      check_option(key, name);
      all.push_back({key, yaml_text(value)});
    };
    flatten_yaml(node, "", take, problem_);
    return all;
  }

  void check_option(const std::string& key, const YAML::Node& node) const {
    if (key == "run.seed") fail(node, "run.seed: is what seeds is for");
    if (key == "run.dir" || key == "run.name" || key == "run.overwrite")
      fail(node, key + ": is the sweep's: each cell has a directory of its own in dir");
  }

  std::vector<std::pair<std::string, Settings>> grid(const YAML::Node& node) const {
    if (!node.IsMap() || node.size() == 0)
      fail(node, "grid: is empty: must be a map from options to lists of values");
    std::vector<std::pair<std::string, Settings>> all = {{"", {}}};
    for (const auto& [key, values] : axes(node)) {
      std::vector<std::pair<std::string, Settings>> more;
      if (all.size() * values.size() > kMaxCells)
        fail(node, fmt::format("grid: has more than {} cells", kMaxCells));
      for (const auto& [name, settings] : all)
        for (const std::string& value : values) {
          more.push_back({"", settings});
          more.back().second.push_back({key, value});
        }
      all = std::move(more);
    }
    return all;
  }

  std::vector<std::pair<std::string, std::vector<std::string>>> axes(const YAML::Node& node) const {
    std::vector<std::pair<std::string, std::vector<std::string>>> all;
    std::set<std::string> seen;
    for (const auto& entry : node) {
      const std::string key = entry.first.Scalar();
      if (!seen.insert(key).second) fail(entry.first, fmt::format("grid: {} is given twice", key));
      check_option(key, entry.first);
      if (!entry.second.IsSequence() || entry.second.size() == 0)
        fail(entry.first,
             fmt::format("grid: {} must be a list of values that is not empty, like [1, 2]", key));
      std::vector<std::string> values;
      for (const auto& value : entry.second) values.push_back(yaml_text(value));
      all.emplace_back(key, values);
    }
    return all;
  }

  std::vector<std::pair<std::string, Settings>> cells(const YAML::Node& node) const {
    if (!node.IsSequence() || node.size() == 0)
      fail(node, "cells: is empty: must be a list of maps of options");
    std::vector<std::pair<std::string, Settings>> all;
    for (const auto& cell : node) {
      if (!cell.IsMap()) fail(cell, "cells: each must be a map of options");
      const std::string name = text(cell, "name", "");
      all.emplace_back(name, settings(cell_without_name(cell), "cells"));
    }
    return all;
  }

  // A copy keeps no line numbers, so the name is left out of a new map of the same nodes.
  static YAML::Node cell_without_name(const YAML::Node& cell) {
    YAML::Node options(YAML::NodeType::Map);
    for (const auto& entry : cell)
      if (entry.first.Scalar() != "name") options.force_insert(entry.first, entry.second);
    return options;
  }

  std::vector<int64_t> seeds(const YAML::Node& node) const {
    if (!node.IsSequence() || node.size() == 0)
      fail(node, "seeds: must be a list that is not empty, like [1, 2, 3]");
    std::vector<int64_t> all;
    for (const auto& seed : node) {
      int64_t value = -1;
      if (!bind_yaml(seed, value) || value < 0)
        fail(seed, fmt::format("seeds: {} is not an integer of at least 0", yaml_text(seed)));
      if (std::ranges::count(all, value) > 0) fail(seed, fmt::format("seeds: {} is there twice", value));
      all.push_back(value);
    }
    return all;
  }

  const std::string path_;
  // The first one ends it.
  const YamlProblem problem_ = [this](const YAML::Node& at, const std::string& field,
                                      const std::string& text) { fail(at, field + ": " + text); };
};

// Letters that need no quoting in a shell; what a path, a list or a space brings becomes "-".
std::string file_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '+';
    if (plain || (!name.empty() && name.back() != '-')) name += plain ? c : '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

// "trloo", "discount-0.4-turns-2": the values, with the last part of their keys but for names.
std::string name_of(const Settings& settings) {
  std::vector<std::string> parts;
  for (const Setting& s : settings)
    parts.push_back(
        file_name(s.key.ends_with(".name") ? s.value : s.key.substr(s.key.rfind('.') + 1) + "-" + s.value));
  const std::string name = fmt::format("{}", fmt::join(parts, "-"));
  return name.empty() ? "base" : name;
}

// Whether an option shapes the policy that reinforcement learning starts from, or how it is made.
bool is_of_the_start(const std::string& key) {
  if (key == "env.judge" || key == "tasks.order" || key == "tasks.least_weight") return false;
  if (key == "run.threads") return true;
  for (const char* section : {"model.", "tasks.", "env.", "traces.", "cold_start.", "rollout.prompt."})
    if (key.starts_with(section)) return true;
  return false;
}

class Expansion {
 public:
  Expansion(const SweepFile& file, const std::vector<std::string>& overrides)
      : file_(file), overrides_(overrides) {
    for (const std::string& word : overrides)
      for (const char* key : {"run.seed=", "run.dir=", "run.name=", "run.overwrite="})
        if (word.starts_with(key))
          throw ConfigError("command line: {}: a sweep's cells have seeds and directories of their own",
                            word);
  }

  Sweep expand() {
    sweep_.dir = file_.dir;
    std::set<std::string> names;
    for (const auto& [given, settings] : file_.variants) {
      const std::string variant = given.empty() ? name_of(settings) : file_name(given);
      if (!names.insert(variant).second)
        throw ConfigError("{}: cell {} is there twice; give cells that only look alike a name", file_.path,
                          variant);
      for (const int64_t seed : file_.seeds) add(variant, settings, seed);
    }
    check_different();
    return std::move(sweep_);
  }

 private:
  RunConfig config_of(const std::string& name, std::vector<std::string> words) const {
    words.push_back("run.name=" + fs::path(name).filename().string());  // of starts/NAME
    words.push_back("run.dir=" + (sweep_.dir / name).string());
    try {
      return read_config(file_.base, words);
    } catch (const ConfigError& e) {
      throw ConfigError("{}: cell {}: {}", file_.path, name, e.what());
    }
  }

  static void append(const Settings& settings, bool start_only, std::vector<std::string>& words) {
    for (const Setting& s : settings)
      if (!start_only || is_of_the_start(s.key)) words.push_back(s.key + "=" + s.value);
  }

  void add(const std::string& variant, const Settings& settings, int64_t seed) {
    std::vector<std::string> words;
    append(file_.common, false, words);
    append(settings, false, words);
    words.insert(words.end(), overrides_.begin(), overrides_.end());
    words.push_back(fmt::format("run.seed={}", seed));
    const std::string name = fmt::format("{}-seed{}", variant, seed);
    SweepCell cell{name, variant, config_of(name, words), ""};
    if (file_.share_start && cell.config.model.path.empty()) {
      cell.start = start_of(settings, seed);
      cell.config.model.path = (sweep_.dir / cell.start / "checkpoints" / "final").string();
      cell.config.cold_start.data = "";  // which the start has learned
      cell.config.cold_start.fields = {};
    }
    sweep_.cells.push_back(std::move(cell));
  }

  // The name of the cold start that a cell begins from; cells that say the same of it share it.
  std::string start_of(const Settings& settings, int64_t seed) {
    Settings own;
    std::ranges::copy_if(settings, std::back_inserter(own),
                         [](const Setting& s) { return is_of_the_start(s.key); });
    const std::string name = fmt::format("starts/{}-seed{}", name_of(own), seed);
    if (std::ranges::count(sweep_.starts, name, &SweepCell::name) > 0) return name;
    std::vector<std::string> words;
    append(file_.common, true, words);
    append(settings, true, words);
    std::ranges::copy_if(overrides_, std::back_inserter(words), [](const std::string& word) {
      return is_of_the_start(word.substr(0, word.find('=')));
    });
    for (const std::string& word : {fmt::format("run.seed={}", seed), std::string("run.steps=0"),
                                    std::string("run.max_seconds=0"), std::string("eval.before=false")})
      words.push_back(word);
    sweep_.starts.push_back({name, "", config_of(name, words), ""});
    return name;
  }

  // Two cells that come to the same are one.
  void check_different() const {
    std::map<std::string, std::string> seen;
    for (const SweepCell& cell : sweep_.cells) {
      RunConfig plain = cell.config;
      plain.run.name = plain.run.dir = "";
      const auto [other, fresh] = seen.emplace(to_yaml(plain), cell.name);
      if (!fresh) throw ConfigError("{}: cells {} and {} are the same", file_.path, other->second, cell.name);
    }
  }

  const SweepFile& file_;
  const std::vector<std::string>& overrides_;
  Sweep sweep_;
};

}  // namespace

Sweep read_sweep(const fs::path& path, const std::vector<std::string>& overrides, const std::string& dir) {
  SweepFile file = Reader(path).read();
  if (!dir.empty()) file.dir = dir;
  return Expansion(file, overrides).expand();
}

}  // namespace temper::trainer
