#include "env/verdict/problem_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace temper::env {
namespace {

void put_notes(nlohmann::json& json, const char* key, const std::vector<std::string>& words) {
  if (!words.empty())
    json[key] = std::vector(words.begin(), words.begin() + ptrdiff_t(std::min(words.size(), kMostNotes)));
}

std::vector<std::string> note_words(const nlohmann::json& json, const char* key) {
  auto words = json.value(key, std::vector<std::string>());
  words.resize(std::min(words.size(), kMostNotes));
  for (std::string& one : words) one.resize(std::min(one.size(), kMostNoteBytes));
  return words;
}

}  // namespace

void to_json(nlohmann::json& json, const ProblemNotes& notes) {
  json = nlohmann::json::object();
  put_notes(json, "weak", notes.weak);
  put_notes(json, "weak_comparable", notes.weak_comparable);
  put_notes(json, "promises", notes.promises);
  if (!notes.unusable.empty()) json["unusable"] = notes.unusable;
}

void from_json(const nlohmann::json& json, ProblemNotes& notes) {
  notes = {.weak = note_words(json, "weak"),
           .weak_comparable = note_words(json, "weak_comparable"),
           .promises = note_words(json, "promises"),
           .unusable = json.value("unusable", "").substr(0, kMostNoteBytes)};
}

std::string weak_text(const std::vector<std::string>& weak) {
  return weak.empty() ? "none" : fmt::format("{}", fmt::join(weak, ", "));
}

}  // namespace temper::env
