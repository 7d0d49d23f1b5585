#include "trainer/cold_start/row_fields.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/input/json.h"
#include "trainer/cold_start/row_messages.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kMediaNames = {"image", "images", "audio", "audios", "video", "videos"};

// As says_something, where a number or a switch says nothing that could be learned.
bool holds_content(const Json& row, const std::string& name) {
  if (!says_something(row, name) || row[name] == "on" || row[name] == "off") return false;
  return row[name].is_string() || row[name].is_structured();
}

bool is_unwanted(const Json& label) {
  return label == false || label == "false" || label == "False" || label == "0" ||
         (label.is_number() && label == 0);
}

void refuse_tools_and_labels(const Json& row) {
  for (const char* name : {"tools", "functions"})
    if (says_something(row, name))
      throw ConfigError("{} is {}: calls of tools cannot be learned; leave such rows out", name,
                        shown(row[name]));
  if (has(row, "label") && is_unwanted(row["label"]))
    throw ConfigError(
        "label is {}: an answer that is not wanted cannot be learned; leave such rows out, or a label that "
        "means something else",
        shown(row["label"]));
}

// `fields`: what they name is read.
void refuse_unread_content(const Json& row, const DataFields& fields) {
  const auto is_named = [&](const std::string& name) {
    return std::ranges::any_of(
        std::array{fields.messages, fields.prompt, fields.completion},
        [&](const std::string& path) { return path == name || path.starts_with(name + "."); });
  };
  for (const std::string& name : kMediaNames)
    if (holds_content(row, name) && !is_named(name))
      throw ConfigError("{} is {}: only text is learned; leave such rows out", name, shown(row[name]));
  for (const char* name : kReasoning)
    if (holds_content(row, name) && !is_named(name)) throw_reasoning(name);
}

}  // namespace

bool has(const Json& row, const std::string& name) {
  const auto found = row.find(name);
  return found != row.end() && !found->is_null();
}

bool says_something(const Json& row, const std::string& name) {
  if (!has(row, name)) return false;
  const Json& value = row[name];
  if (!value.is_string()) return !value.is_structured() || !value.empty();
  const std::string& text = value.get_ref<const std::string&>();
  return !text.empty() && text != "[]";
}

void refuse_what_is_lost(const Json& row, const DataFields& fields) {
  refuse_tools_and_labels(row);
  refuse_unread_content(row, fields);
}

}  // namespace temper::trainer
