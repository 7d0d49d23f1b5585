#include "policy/chat/published_layouts.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "base/input/printable.h"

namespace temper::policy {

extern const char* const kPublishedLayouts;  // published_layouts.json

namespace {

using Json = nlohmann::json;

constexpr const char *kDateMark = "{date}", *kOrigin = "published_layouts.json";

// The table leaves out what most layouts have.
Json whole_turn(Json turn) {
  for (const char* key : {"told", "told_earlier"})
    if (!turn.contains(key)) turn[key] = turn.value("after", "");
  return turn;
}

Json whole_layout(Json entry) {
  for (const char* turn : {"first", "first_with_system", "further"}) {
    if (!entry.contains(turn)) entry[turn] = entry.at("first");
    entry[turn] = whole_turn(entry[turn]);
  }
  if (!entry.contains("earlier_answer_trim") && entry.contains("answer_trim"))
    entry["earlier_answer_trim"] = entry["answer_trim"];
  ChatLayout plain;
  plain.name = "template";
  Json layout = to_json(plain);
  layout.merge_patch(entry);
  return layout;
}

// White space at both ends has a name, since the characters are many.
void expand_trims(Json& json) {
  const Json all = {{"left", kWhiteSpace}, {"right", kWhiteSpace}};
  for (auto& [key, value] : json.items()) {
    if (value == "white space") value = key.ends_with("trim") ? all : Json(kWhiteSpace);
    if (value.is_object()) expand_trims(value);
  }
}

PublishedFamily family_of(Json entry) {
  Json layout = whole_layout(entry.at("layout"));
  expand_trims(layout);
  return {.name = entry.at("family"),
          .texts = entry.at("texts"),
          .tokens = entry.value("tokens", std::map<std::string, std::string>()),
          .date_format = entry.value("date_format", ""),
          .layout = layout.dump()};
}

std::string shown_date(const std::string& date, const std::string& format) {
  std::tm day{};
  if (std::sscanf(date.c_str(), "%d-%d-%d", &day.tm_year, &day.tm_mon, &day.tm_mday) != 3)
    throw ConfigError("model.chat_date: '{}' is no date like 2026-01-31", printable(date));
  day.tm_year -= 1900;
  day.tm_mon -= 1;
  return fmt::format(fmt::runtime("{:" + format + "}"), day);
}

std::string with_date(std::string layout, const std::string& shown) {
  for (size_t at = 0; (at = layout.find(kDateMark, at)) != std::string::npos; at += shown.size())
    layout.replace(at, std::string_view(kDateMark).size(), shown);
  return layout;
}

}  // namespace

const std::vector<PublishedFamily>& published_families() {
  static const std::vector<PublishedFamily> all = [] {
    std::vector<PublishedFamily> families;
    const Json table = Json::parse(kPublishedLayouts);
    for (const Json& entry : table) families.push_back(family_of(entry));
    return families;
  }();
  return all;
}

std::string text_digest(std::string text) {
  for (size_t at = 0; (at = text.find('\r', at)) != std::string::npos; ++at)
    text.replace(at, text.compare(at, 2, "\r\n") == 0 ? 2 : 1, "\n");
  if (text.ends_with('\n')) text.pop_back();
  Sha256 digest;
  digest.add(text.data(), text.size());
  return digest.hex();
}

PublishedLayout published_layout(const ChatTemplate& chat_template,
                                 const std::vector<PublishedFamily>& families) {
  const std::string digest = text_digest(chat_template.text);
  const auto family = std::ranges::find_if(
      families, [&](const PublishedFamily& one) { return std::ranges::count(one.texts, digest) > 0; });
  if (family == families.end())
    return {.layout = {}, .why = "is not one of those that are known by their digest"};
  if (parse_json_object(chat_template.arguments, "model.chat_arguments").size() > 0)
    return {.layout = {},
            .why = fmt::format("is known, as {}'s, only without model.chat_arguments", family->name)};
  for (const auto& [name, token] : family->tokens)
    if (const auto own = chat_template.tokens.find(name);
        own == chat_template.tokens.end() || own->second != token)
      return {.layout = {},
              .why = fmt::format("is known, as {}'s, only with {} as its {}", family->name, token, name)};
  std::string text = family->layout;
  if (!family->date_format.empty())
    text = with_date(text, shown_date(chat_template.date, family->date_format));
  ChatLayout layout = layout_from(text, kOrigin);
  layout.source = chat_template.digest();
  layout.date = chat_template.date;
  return {.layout = layout};
}

}  // namespace temper::policy
