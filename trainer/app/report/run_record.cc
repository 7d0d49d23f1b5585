#include "trainer/app/report/run_record.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/input/yaml.h"
#include "base/input/yaml_binder.h"
#include "policy/chat/choice.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

// The line's step, if it is a number that a double holds exactly.
std::optional<int64_t> step_of(const nlohmann::json& json) {
  constexpr double kMost = 9007199254740992;  // 2^53
  const auto found = json.find("step");
  if (found == json.end() || !found->is_number()) return std::nullopt;
  const double step = found->get<double>();
  if (!(step >= -kMost && step <= kMost)) return std::nullopt;
  return int64_t(step);
}

// Without this program's list of options: an older one wrote others.
std::map<std::string, std::string> read_saved_options(const fs::path& path) {
  std::map<std::string, std::string> options;
  try {
    const YAML::Node root = read_yaml(path);
    if (!root.IsMap()) throw ConfigError("{}: is not the config of a run", path.string());
    const auto take = [&](const std::string& key, const YAML::Node&, const YAML::Node& value) {
      options[key] = yaml_text(value);
    };
    flatten_yaml(root, "", take, [](const auto&...) {});  // what is given twice counts as it stands last
  } catch (const YAML::Exception& e) {
    throw ConfigError("{}: not the config of a run: {}", path.string(), e.what());
  }
  return options;
}

bool is_run(const fs::path& dir) { return fs::exists(dir / "config.yaml"); }

void put(Series& series, int64_t step, double value) {
  while (!series.empty() && series.back().first >= step) series.pop_back();
  series.emplace_back(step, value);
}

}  // namespace

int64_t MetricsFile::read_on() {
  std::ifstream file(path_, std::ios::binary);
  if (!file) return 0;
  file.seekg(0, std::ios::end);
  const auto size = uint64_t(file.tellg());
  if (size < offset_) *this = MetricsFile(path_);
  file.seekg(std::streamoff(offset_));
  int64_t taken = 0;
  half_line_bytes_ = 0;
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) {
      half_line_bytes_ = line.size();
      break;
    }
    offset_ += line.size() + 1;
    if (take(line))
      ++taken;
    else
      ++bad_lines_;
  }
  return taken;
}

bool MetricsFile::take(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto step = json.is_object() ? step_of(json) : std::nullopt;
  if (!step) return false;
  for (const auto& [name, value] : json.items())
    if (name != "step" && value.is_number()) put(series_[name], *step, value.get<double>());
  return true;
}

RunState RunRecord::state() const {
  if (steps_done() == 0) return RunState::kNoStep;
  return fs::exists(dir / "finished.json") ? RunState::kFinished : RunState::kUnfinished;
}

std::string RunRecord::option(const std::string& key) const {
  const auto found = options.find(key);
  return found == options.end() ? "" : found->second;
}

const Series* RunRecord::find(const std::string& metric) const {
  const auto found = series.find(metric);
  return found == series.end() || found->second.empty() ? nullptr : &found->second;
}

int64_t RunRecord::steps_done() const {
  const Series* steps = find("timing_s/step");
  return steps ? steps->back().first : 0;
}

Metrics RunRecord::evaluation(bool after) const {
  Metrics found;
  int64_t last = 0;
  for (const auto& [metric, values] : series)
    if (metric.starts_with("val/") && !values.empty()) last = std::max(last, values.back().first);
  if (after && last == 0) return found;
  const int64_t step = after ? last : 0;
  for (const auto& [metric, values] : series) {
    if (!metric.starts_with("val/")) continue;
    const auto at = std::ranges::find(values, step, &Series::value_type::first);
    if (at != values.end()) found[metric] = at->second;
  }
  return found;
}

RunRecord read_run(const fs::path& dir) {
  if (!is_run(dir)) throw ConfigError("{}: is not a run directory: it has no config.yaml", dir.string());
  RunRecord run;
  run.dir = dir;
  run.options = read_saved_options(dir / "config.yaml");
  run.name = fs::canonical(dir).filename();
  MetricsFile metrics(dir / "metrics.jsonl");
  metrics.read_on();
  run.series = metrics.series();
  if (metrics.bad_lines() > 0)
    run.problems.push_back(
        fmt::format("{} lines of metrics.jsonl are not JSON and were left out", metrics.bad_lines()));
  if (metrics.half_a_line())
    run.problems.push_back("the last line of metrics.jsonl is cut off and was left out");
  return run;
}

std::vector<fs::path> find_runs(const fs::path& path) {
  if (is_run(path)) return {path};
  if (!fs::exists(path)) throw ConfigError("{}: no such run directory", path.string());
  if (!fs::is_directory(path)) throw ConfigError("{}: is a file, not a run directory", path.string());
  std::vector<fs::path> runs;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_directory() && is_run(entry.path())) runs.push_back(entry.path());
  if (runs.empty()) throw ConfigError("{}: is not a run directory, nor are there any in it", path.string());
  std::ranges::sort(runs);
  return runs;
}

policy::Tokenizer tokenizer_of_run(const fs::path& dir) {
  for (const char* saved : {"final", "cold_start"})
    if (const fs::path from = dir / "checkpoints" / saved; fs::exists(from)) {
      policy::Tokenizer tokenizer = policy::Tokenizer::load(from);
      policy::take_kept_layout(tokenizer, from);
      return tokenizer;
    }
  const std::string model = read_saved_options(dir / "config.yaml")["model.path"];
  if (model.empty()) throw ConfigError("{}: has saved no tokenizer yet", dir.string());
  return policy::Tokenizer::load(model);
}

}  // namespace temper::trainer
