#include "trainer/app/report/origin.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>
#include <fstream>
#include "base/error.h"
#include "base/input/json.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFactBytes = 2000, kMaxHeadBytes = 256 << 10;
constexpr size_t kLogTimeBytes = 24;  // "2026-01-02 03:04:05.678 "

std::string head_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxHeadBytes, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

// An object without entries where the text is none that this program would write.
Json object_of(const std::string& text) try {
  return parse_json_object(text, "facts about a run");
} catch (const ConfigError&) {
  return Json::object();
}

// The program's start as it describes it; empty where the run is of a program that did not.
Json start_of(const fs::path& dir) {
  if (Json start = object_of(head_of(dir / "run.json")); !start.empty()) return start;
  const std::string head = head_of(dir / "metrics.jsonl");
  const Json line = object_of(head.substr(0, head.find('\n')));
  return line.contains("start") && line["start"].is_object() ? line["start"] : Json::object();
}

// What lies deeper than a list in a list is left out.
std::string word_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_structured() || value.is_null() ? "" : value.dump();
}

// A number, a word, a list of them or of pairs, or names with what they stand for.
std::string text_of(const Json& value) {
  if (!value.is_structured()) return word_of(value);
  std::vector<std::string> parts;
  for (const auto& [name, entry] : value.items()) {
    std::vector<std::string> words;
    if (value.is_object()) words.push_back(name);
    if (entry.is_array())
      for (const Json& word : entry) words.push_back(word_of(word));
    else
      words.push_back(word_of(entry));
    parts.push_back(fmt::format("{}", fmt::join(words, " ")));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string named(const Json& json, const char* key) { return json.contains(key) ? text_of(json[key]) : ""; }

// What stands behind `name: ` on the log's first such line.
std::string logged(const std::string& log, const std::string& name) {
  for (size_t at = 0; at < log.size();) {
    const size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = std::string_view(log).substr(at, end - at);
    if (line.size() > kLogTimeBytes && line.substr(kLogTimeBytes).starts_with(name + ": "))
      return std::string(line.substr(kLogTimeBytes + name.size() + 2));
    at = end + 1;
  }
  return "";
}

std::string moment_text(double seconds) {
  if (seconds <= 0) return "";
  const auto when = std::time_t(seconds);
  std::tm parts{};
  if (::gmtime_r(&when, &parts) == nullptr) return "";
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

std::string program_text(const Json& start) {
  const std::string version = named(start, "version"), commit = named(start, "commit");
  if (version.empty() && commit.empty()) return "";
  return "temper " + version + (commit.empty() ? "" : (version.empty() ? "" : ", ") + ("commit " + commit));
}

std::string machine_text(const Json& start) {
  std::string text = named(start, "host");
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  if (const std::string cores = named(start, "cores"); !cores.empty()) add(cores + " cores");
  add(named(start, "gpus"));
  if (const std::string ranks = named(start, "ranks"); !ranks.empty() && ranks != "1") add(ranks + " ranks");
  return text;
}

}  // namespace

std::vector<Fact> facts_of(const RunRecord& run, const Timeline& timeline) {
  const Json start = start_of(run.dir);
  const std::string log = head_of(run.dir / "log" / "rank_0.txt");
  const std::string device = logged(log, "device");
  std::vector<Fact> facts;
  const auto add = [&](const char* name, std::string value) {
    if (value.empty()) return;
    if (value.size() > kMaxFactBytes) value = value.substr(0, kMaxFactBytes) + " …";
    facts.push_back({name, std::move(value)});
  };
  add("began", moment_text(timeline.began_s));
  if (timeline.starts > 1)
    add("starts", fmt::format("{}, the last line at {}", timeline.starts, moment_text(timeline.ended_s)));
  add("policy", logged(log, "policy"));
  add("device", device.empty() ? named(start, "device") : device);
  add("machine", machine_text(start));
  add("judge", logged(log, "judge"));
  add("tasks", logged(log, "tasks"));
  add("program", program_text(start));
  add("compiler", named(start, "compiler"));
  add("flags", named(start, "flags"));
  add("libraries", named(start, "libraries"));
  add("directory", named(start, "directory"));
  add("command", named(start, "command"));
  return facts;
}

}  // namespace temper::trainer
