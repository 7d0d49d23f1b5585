#include "env/verdict/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "base/error.h"

namespace temper::env {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RuntimeStats, mean, std, min, max, num_trials)

namespace {

// JSON has no NaN and no infinity. They are written as texts, as Python's float() reads them.
nlohmann::json numbers_to_json(const std::vector<double>& numbers) {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < std::min(numbers.size(), kMaxComparableTrials); ++i)
    list.push_back(std::isfinite(numbers[i]) ? nlohmann::json(numbers[i])
                                             : nlohmann::json(fmt::format("{}", numbers[i])));
  return list;
}

double number_from(const nlohmann::json& json) {
  if (!json.is_string()) return json.get<double>();
  const std::string text = json.get<std::string>();
  if (text == "inf") return INFINITY;
  if (text == "-inf") return -INFINITY;
  if (text == "nan" || text == "-nan") return NAN;
  throw WorldError("'{}' is not a number", text.substr(0, 40));
}

std::vector<double> numbers_from(const nlohmann::json& json) {
  if (!json.is_array() || json.size() > kMaxComparableTrials)
    throw WorldError("differences are not a list of at most {} numbers", kMaxComparableTrials);
  std::vector<double> numbers;
  for (const nlohmann::json& one : json) numbers.push_back(number_from(one));
  return numbers;
}

std::string bounded(const std::string& text) { return text.substr(0, kMaxComparableText); }

int64_t count_from(const nlohmann::json& json, const char* name) {
  if (!json.is_number_integer() || json.get<int64_t>() < 0)
    throw WorldError("comparable.{} is not a count", name);
  return json.get<int64_t>();
}

double three_digits(double value) { return std::strtod(fmt::format("{:.3g}", value).c_str(), nullptr); }

}  // namespace

void to_json(nlohmann::json& json, const ComparableResult& result) {
  json = {{"compiled", result.compiled},
          {"correctness", result.correctness},
          {"trials_right", result.trials_right},
          {"trials", result.trials},
          {"max_difference", numbers_to_json(result.max_difference)},
          {"avg_difference", numbers_to_json(result.avg_difference)},
          {"excessive_speedup", result.excessive_speedup}};
  if (result.runtime.timed()) json["runtime"] = result.runtime;
  if (result.ref_runtime.timed()) json["ref_runtime"] = result.ref_runtime;
  if (result.timed_out) json["timed_out"] = true;
  for (const auto& [name, text] :
       {std::pair{"error_name", &result.error_name}, std::pair{"error", &result.error},
        std::pair{"traceback", &result.traceback}, std::pair{"issue", &result.issue}})
    if (!text->empty()) json[name] = bounded(*text);
}

void from_json(const nlohmann::json& json, ComparableResult& result) {
  result = {};
  json.at("compiled").get_to(result.compiled);
  json.at("correctness").get_to(result.correctness);
  result.trials_right = count_from(json.at("trials_right"), "trials_right");
  result.trials = count_from(json.at("trials"), "trials");
  result.max_difference = numbers_from(json.at("max_difference"));
  result.avg_difference = numbers_from(json.at("avg_difference"));
  json.at("excessive_speedup").get_to(result.excessive_speedup);
  for (const auto& [name, stats] :
       {std::pair{"runtime", &result.runtime}, std::pair{"ref_runtime", &result.ref_runtime}}) {
    if (!json.contains(name)) continue;
    *stats = json[name].get<RuntimeStats>();
    stats->num_trials = count_from(json[name].at("num_trials"), name);
  }
  result.timed_out = json.value("timed_out", false);
  for (const auto& [name, text] :
       {std::pair{"error_name", &result.error_name}, std::pair{"error", &result.error},
        std::pair{"traceback", &result.traceback}, std::pair{"issue", &result.issue}})
    *text = bounded(json.value(name, ""));
}

RuntimeStats runtime_stats(const std::vector<double>& times_ms) {
  if (times_ms.empty()) return {};
  const auto count = double(times_ms.size());
  const double mean = std::accumulate(times_ms.begin(), times_ms.end(), 0.0) / count;
  double squares = 0;
  for (const double time : times_ms) squares += (time - mean) * (time - mean);
  const auto [least, most] = std::ranges::minmax_element(times_ms);
  return {three_digits(mean), three_digits(std::sqrt(squares / count)), three_digits(*least),
          three_digits(*most), std::ssize(times_ms)};
}

}  // namespace temper::env
