#include "trainer/evaluate/kernelbench_baseline.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostHardwareBytes = 80;

std::optional<int64_t> number_behind(const std::string& text, size_t at) {
  const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
  constexpr size_t kMostDigits = 9;
  if (end == at || end - at > kMostDigits) return std::nullopt;
  return std::stoll(text.substr(at, end - at));
}

int64_t level_of(const std::string& key, const std::string& where) {
  const auto level = key.starts_with("level") ? number_behind(key, 5) : std::nullopt;
  if (!level || key != fmt::format("level{}", *level))
    throw ConfigError("{}: '{}' is no level; KernelBench's file has level1, level2 and level3", where,
                      printable(key, 40));
  return *level;
}

PublishedTime time_of(const Json& json, const std::string& where) {
  const auto number = [&](const char* key, bool needed) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (found == json.end() && !needed) return 0.0;
    if (!json.is_object() || found == json.end() || !found->is_number() ||
        !std::isfinite(found->get<double>()))
      throw ConfigError("{}: {} is no number of milliseconds", where, key);
    return found->get<double>();
  };
  PublishedTime time;
  time.stats = {.mean = number("mean", true),
                .std = number("std", false),
                .min = number("min", false),
                .max = number("max", false),
                .num_trials = std::max<int64_t>(1, int64_t(number("num_trials", false)))};
  if (time.stats.mean <= 0) throw ConfigError("{}: mean is {}, and must be above 0", where, time.stats.mean);
  if (const auto found = json.find("hardware"); found != json.end() && found->is_string())
    time.hardware = printable(found->get<std::string>(), kMostHardwareBytes);
  return time;
}

}  // namespace

KernelBenchBaseline::KernelBenchBaseline(const std::filesystem::path& file) {
  const std::string where = fmt::format("eval.kernelbench_baseline: {}", file.string());
  Json json;
  try {
    json = read_json(file);
  } catch (const ConfigError& e) {
    throw ConfigError("eval.kernelbench_baseline: {}", e.what());
  }
  if (json.empty())
    throw ConfigError("{}: it holds no levels; a file of KernelBench's results/timing is wanted", where);
  for (const auto& [key, problems] : json.items()) {
    const int64_t level = level_of(key, where);
    if (!problems.is_object()) throw ConfigError("{}: {} holds no problems", where, key);
    for (const auto& [name, time] : problems.items())
      times_[{level, name}] = time_of(time, fmt::format("{}: {}, {}", where, key, printable(name, 80)));
  }
}

PublishedTime KernelBenchBaseline::find(int64_t level, const std::string& file) const {
  if (const auto found = times_.find({level, file}); found != times_.end()) return found->second;
  const auto number = number_behind(file, 0);
  for (auto at = times_.lower_bound({level, ""}); number && at != times_.end() && at->first.first == level;
       ++at)
    if (number_behind(at->first.second, 0) == number) return at->second;
  return {};
}

}  // namespace temper::trainer
