#include "env/verdict/compiled_baselines.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/json.h"
#include "base/input/printable.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;
constexpr int kFormat = 1;

// The file's complaints, each with its place.
class Entry {
 public:
  Entry(const std::string& path, size_t number, const Json& json)
      : place_(fmt::format("env.compiled_baselines: {}, entry {}", path, number)), json_(json) {
    if (!json.is_object()) throw ConfigError("{}: {}; an object is needed", place_, shown(json));
    place_ += fmt::format(" ({})", printable(text("task")));
  }

  std::string text(const char* name) const {
    const Json& value = field(name);
    if (!value.is_string() || value.get<std::string>().empty()) fail(name, value, "a text");
    return value.get<std::string>();
  }

  double positive(const char* name) const {
    const Json& value = field(name);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= 0)
      fail(name, value, "a number above 0");
    return value.get<double>();
  }

 private:
  const Json& field(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) throw ConfigError("{}, {}: is missing", place_, name);
    return *found;
  }
  [[noreturn]] void fail(const char* name, const Json& value, const char* needed) const {
    throw ConfigError("{}, {}: {}; {} is needed", place_, name, shown(value), needed);
  }

  std::string place_;
  const Json& json_;
};

Json read_list(const std::string& path) {
  if (!std::filesystem::is_regular_file(path))
    throw ConfigError("env.compiled_baselines: {}: no such file; tools/compiled_baselines writes one", path);
  const JsonLimits limits{.bytes = 64 << 20};
  const Json json =
      parse_json(read_input_file(path, limits.bytes), "env.compiled_baselines: " + path, limits);
  if (!json.is_object() || !json.contains("format") || !json.contains("baselines") ||
      !json["baselines"].is_array())
    throw ConfigError("env.compiled_baselines: {}: not a file of tools/compiled_baselines", path);
  if (json["format"] != kFormat)
    throw ConfigError("env.compiled_baselines: {}, format: {}; {} is needed", path, shown(json["format"]),
                      kFormat);
  return json["baselines"];
}

}  // namespace

CompiledBaselines::CompiledBaselines(const std::string& path) {
  if (path.empty()) return;
  size_t number = 0;
  for (const Json& json : read_list(path)) {
    const Entry entry(path, ++number, json);
    const std::string digest = entry.text("digest"), gpu = entry.text("gpu"), torch = entry.text("torch");
    const double ratio = entry.positive("ratio");
    if (torch.substr(0, torch.find('+')) == torch_version()) ratios_[{digest, gpu}] = ratio;
  }
}

std::optional<double> CompiledBaselines::speedup(const std::string& task_digest,
                                                 const Verdict& verdict) const {
  if (verdict.gpu.empty() || verdict.candidate_us <= 0) return std::nullopt;
  const auto ratio = ratios_.find({task_digest, verdict.gpu});
  if (ratio == ratios_.end()) return std::nullopt;
  return verdict.speedup / ratio->second;
}

const char* CompiledBaselines::torch_version() { return TEMPER_TORCH_VERSION; }

}  // namespace temper::env
