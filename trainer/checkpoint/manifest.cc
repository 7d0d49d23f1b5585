#include "trainer/checkpoint/manifest.h"

#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/input/printable.h"
#include "trainer/config/config.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "temper checkpoint";
constexpr const char* kPieces = "sha256_of_64_mib_pieces";

Json to_json(const ColdStartPlace& place) {
  return {{"updates", place.updates},
          {"tokens", place.tokens},
          {"seconds", place.seconds},
          {"examples", place.examples}};
}

// A number with a fraction, or that no integer holds, would be taken for another one.
void require_integers(const Json& json, const std::string& key) {
  if (json.is_number_float() || json.is_boolean())
    throw ConfigError("manifest.json: {} is {}, no integer", key, json.dump());
  if (!json.is_structured()) return;
  for (const Json& inner : json) require_integers(inner, key);
}

const Json& integers_at(const Json& json, const char* key) {
  require_integers(json.at(key), key);
  return json[key];
}

ColdStartPlace place_from(const Json& json) {
  return {integers_at(json, "updates"), integers_at(json, "tokens"), json.at("seconds"), json.at("examples")};
}

// Refuses nesting much deeper than that of our manifests, because dump() is recursive.
bool is_shallow(int depth, Json::parse_event_t, Json&) {
  if (depth > 12) throw ConfigError("manifest.json nests more than 12 deep");
  return true;
}

struct LineDifference {
  size_t line;
  std::string now, then;
};
// Of two texts that differ.
LineDifference first_difference(const std::string& now, const std::string& then) {
  std::istringstream a(now), b(then);
  LineDifference found{0, "", ""};
  for (bool more = true; more && found.now == found.then; ++found.line) {
    const bool more_a = bool(std::getline(a, found.now)), more_b = bool(std::getline(b, found.then));
    more = more_a || more_b;
  }
  return found;
}

Manifest read_fields(const Json& json) {
  Manifest m;
  json.at("config").get_to(m.config);
  json.at("tasks").get_to(m.tasks);
  integers_at(json, "parameters").get_to(m.parameters);
  integers_at(json, "vocabulary").get_to(m.vocabulary);
  integers_at(json, "step").get_to(m.step);
  integers_at(json, "updates").get_to(m.updates);
  m.gradient_norms = json.value("gradient_norms", m.gradient_norms);
  json.at("seconds").get_to(m.seconds);
  m.metric =
      json.at("metric").is_null() ? std::numeric_limits<double>::quiet_NaN() : json["metric"].get<double>();
  m.evaluations = json.at("evaluations");
  m.pass_rates = json.value("pass_rates", m.pass_rates);  // an older program's have none
  m.left_out = json.value("left_out", m.left_out);
  integers_at(json, "records").get_to(m.records);
  json.at("files").get_to(m.files);
  json.at("ranks").get_to(m.ranks);
  if (json.contains("cold_start")) m.cold_start = place_from(json["cold_start"]);
  m.start = json.value("start", Json());
  m.words = json.value("words", m.words);
  return m;
}

}  // namespace

void to_json(Json& json, const FileDigest& file) {
  json = {{"name", file.name}, {"bytes", file.bytes}, {file.by_pieces ? kPieces : "sha256", file.sha256}};
}

void from_json(const Json& json, FileDigest& file) {
  json.at("name").get_to(file.name);
  integers_at(json, "bytes").get_to(file.bytes);
  file.by_pieces = json.contains(kPieces);  // an older program's never are
  json.at(file.by_pieces ? kPieces : "sha256").get_to(file.sha256);
  if (std::filesystem::path(file.name).filename() != file.name || file.name.starts_with("."))
    throw ConfigError("'{}' is not a file of this folder", file.name);
}

void to_json(Json& json, const RankRecord& record) {
  json = {{"share", record.share}, {"begins", record.begins}, {"verdict_bytes", record.verdict_bytes}};
}

void from_json(const Json& json, RankRecord& record) {
  json.at("share").get_to(record.share);
  integers_at(json, "begins").get_to(record.begins);
  integers_at(json, "verdict_bytes").get_to(record.verdict_bytes);
}

std::string to_text(const Manifest& m) {
  Json json = {{"format", kFormat},
               {"version", Manifest::kVersion},
               {"config", m.config},
               {"tasks", m.tasks},
               {"parameters", m.parameters},
               {"vocabulary", m.vocabulary},
               {"step", m.step},
               {"updates", m.updates},
               {"seconds", m.seconds},
               {"metric", m.metric},
               {"evaluations", m.evaluations},
               {"pass_rates", m.pass_rates},
               {"records", m.records},
               {"files", m.files},
               {"ranks", m.ranks}};
  if (!m.start.is_null()) json["start"] = m.start;
  if (!m.gradient_norms.empty()) json["gradient_norms"] = m.gradient_norms;
  if (m.cold_start) json["cold_start"] = to_json(*m.cold_start);
  if (!m.left_out.empty()) json["left_out"] = m.left_out;
  if (!m.words.empty()) json["words"] = m.words;
  json["sha256"] = sha256(json.dump());
  return json.dump(1) + "\n";
}

Manifest manifest_from(const std::string& text) {
  Json json = Json::parse(text, is_shallow, false);
  if (!json.is_object()) throw ConfigError("manifest.json is not whole");
  if (json.value("format", Json()) != kFormat) throw ConfigError("manifest.json is of another format");
  if (const Json version = json.value("version", Json()); version != Manifest::kVersion)
    throw ConfigError("it has format version {}, this program reads {}", version.dump(), Manifest::kVersion);
  const Json said = json.value("sha256", Json());
  json.erase("sha256");
  if (said != sha256(json.dump())) throw ConfigError("manifest.json was changed: it has another digest");
  try {
    return read_fields(json);
  } catch (const Json::exception& e) {
    throw ConfigError("manifest.json: {}", e.what());
  }
}

FileDigest digest_of(const std::filesystem::path& file) {
  const std::string content = read_file(file);
  return {file.filename().string(), content.size(), sha256(content), false};
}

std::map<std::string, std::string> words_of(const RunConfig& config) {
  std::map<std::string, std::string> words;
  for (const rollout::OwnWords& own : rollout::own_words(config.rollout.context.prompt))
    words[own.option] = own.text;
  return words;
}

std::string changed_words(const std::map<std::string, std::string>& before, const RunConfig& now) {
  const rollout::PromptOptions& prompt = now.rollout.context.prompt;
  const std::map<std::string, std::string> paths = {
      {"system", prompt.system_file}, {"first", prompt.first}, {"later", prompt.later}};
  const std::map<std::string, std::string> after = words_of(now);
  for (const auto& [option, path] : paths) {
    const auto text_in = [&, &key = option](const auto& words) {
      return words.contains(key) ? words.at(key) : "";
    };
    const std::string then = text_in(before), text = text_in(after);
    if (then == text) continue;
    if (then.empty() || text.empty())
      return fmt::format("rollout.prompt.{} is {}given now, and was {}when the run began", option,
                         text.empty() ? "not " : "", then.empty() ? "not " : "");
    const auto [line, now_line, then_line] = first_difference(text, then);
    return fmt::format(
        "rollout.prompt.{}: {} is not what the run began with: line {} is '{}', was '{}'; the run keeps its "
        "own text in "
        "its folder prompt",
        option, path.empty() ? "the text" : path, line, printable(now_line), printable(then_line));
  }
  return "";
}

std::map<std::string, std::vector<int64_t>> shapes_of(const policy::ModelConfig& config) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const policy::ParameterInfo& parameter : policy::parameters_of(config))
    shapes[parameter.name] = parameter.shape;
  return shapes;
}

std::string OptionChange::text() const { return fmt::format("{} is {}, was {}", key, now, before); }

std::vector<OptionChange> option_changes(const std::map<std::string, std::string>& before,
                                         const RunConfig& now) {
  auto then = to_map(read_config("", {}));  // an older program's lack the newer options
  // Before there were styles, all prompts were short.
  if (const std::string style = "rollout.prompt.style"; to_map(now).at(style) != "auto")
    then[style] = "short";
  for (const auto& [key, value] : before) then[key] = value;
  std::vector<OptionChange> changes;
  for (const auto& [key, value] : to_map(now))
    if (then[key] != value) changes.push_back({key, value, then[key]});
  return changes;
}

std::string changed_options(const std::map<std::string, std::string>& before, const RunConfig& now) {
  const std::set<std::string> may_change = keys_that_may_change();
  std::vector<std::string> changes;
  for (const OptionChange& change : option_changes(before, now))
    if (!may_change.contains(change.key)) changes.push_back(change.text());
  return fmt::format("{}", fmt::join(changes, "; "));
}

}  // namespace temper::trainer
