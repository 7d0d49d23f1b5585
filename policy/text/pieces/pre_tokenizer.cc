#include "policy/text/pieces/pre_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/utf8.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSpaceOfPieces = "\xE2\x96\x81";

[[noreturn]] void refuse_pre_tokenizer(const std::string& origin, std::string_view field, const Json& value,
                                       std::string_view allowed) {
  throw ConfigError("{}: pre_tokenizer{} = {} is not supported: must be {}", origin, field, shown(value),
                    allowed);
}

const Json& member(const Json& json, const char* name) {
  static const Json null;
  const auto found = json.is_object() ? json.find(name) : json.end();
  return json.is_object() && found != json.end() ? *found : null;
}

bool flag(const Json& json, const char* name, bool otherwise, const std::string& origin) {
  const Json& value = member(json, name);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) refuse_pre_tokenizer(origin, std::string(": ") + name, value, "true or false");
  return value.get<bool>();
}

// A part of a text, and whether the pattern matched it.
struct Part {
  std::string_view text;
  bool matched;
};

std::string_view together(std::string_view left, std::string_view right) {
  return {left.data(), size_t(right.data() + right.size() - left.data())};
}

}  // namespace

PreTokenizer::PreTokenizer(const Json& json, const std::string& origin) { add(json, origin); }

PreTokenizer PreTokenizer::metaspace(PrependScheme scheme) {
  PreTokenizer made;
  Step& step = made.steps_.emplace_back();
  step.space = step.prefix = kSpaceOfPieces;
  step.scheme = scheme;
  return made;
}

PreTokenizer PreTokenizer::byte_level(std::optional<std::string_view> pattern, bool add_prefix_space) {
  PreTokenizer made;
  if (pattern) made.steps_.emplace_back().splitter.emplace(*pattern, "pre_tokenizer");
  made.add_byte_level(add_prefix_space, !pattern);
  return made;
}

void PreTokenizer::add_byte_level(bool add_prefix_space, bool use_regex) {
  byte_level_ = true;
  if (add_prefix_space) {
    Step& step = steps_.emplace_back();
    step.prefix = " ";
    step.scheme = PrependScheme::kAlways;
  }
  if (use_regex) steps_.emplace_back().splitter.emplace(TextSplitter::gpt2_pattern(), "pre_tokenizer");
}

PreTokenizer::Behavior PreTokenizer::behavior_of(const Json& json, const std::string& origin) {
  constexpr std::pair<const char*, Behavior> kBehaviors[] = {
      {"Isolated", Behavior::kIsolated},
      {"Removed", Behavior::kRemoved},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous}};
  for (const auto& [name, behavior] : kBehaviors)
    if (json == name) return behavior;
  refuse_pre_tokenizer(origin, ": behavior", json,
                       "Isolated, Removed, MergedWithPrevious, MergedWithNext or Contiguous");
}

void PreTokenizer::add_split(const Json& json, const std::string& origin) {
  Step& step = steps_.emplace_back();
  step.behavior = behavior_of(member(json, "behavior"), origin);
  step.invert = flag(json, "invert", false, origin);
  const Json& pattern = member(json, "pattern");
  const Json &regex = member(pattern, "Regex"), &text = member(pattern, "String");
  if (regex.is_string())
    step.splitter.emplace(regex.get_ref<const std::string&>(), origin + ": pre_tokenizer");
  else if (text.is_string() && text != "")
    step.splitter.emplace(TextSplitter::literal(text.get_ref<const std::string&>()));
  else
    refuse_pre_tokenizer(origin, ": pattern", pattern, "{\"Regex\": \"…\"} or {\"String\": \"…\"}");
}

void PreTokenizer::add_metaspace(const Json& json, const std::string& origin) {
  const Json& replacement = member(json, "replacement");
  if (replacement != kSpaceOfPieces) refuse_pre_tokenizer(origin, ": replacement", replacement, "\"\u2581\"");
  const Json& scheme = member(json, "prepend_scheme");
  const bool prefix = flag(json, "add_prefix_space", true, origin);
  Step& step = steps_.emplace_back();
  step.space = step.prefix = kSpaceOfPieces;
  if (scheme == "first" && prefix)
    step.scheme = PrependScheme::kFirst;
  else if ((scheme == "always" || scheme.is_null()) && prefix)
    step.scheme = PrependScheme::kAlways;
  else if (scheme != "never")
    refuse_pre_tokenizer(origin, ": prepend_scheme", scheme,
                         prefix ? "first, always or never" : "never where add_prefix_space is false");
  if (!flag(json, "split", true, origin)) return;
  Step& split = steps_.emplace_back();
  split.splitter.emplace(TextSplitter::literal(kSpaceOfPieces));
  split.behavior = Behavior::kMergedWithNext;
}

void PreTokenizer::add(const Json& json, const std::string& origin) {
  if (json.is_null()) return;
  const Json& type = member(json, "type");
  if (byte_level_)
    refuse_pre_tokenizer(origin, "", json, "nothing behind ByteLevel, which makes bytes of characters");
  if (type == "Sequence" && member(json, "pretokenizers").is_array()) {
    for (const Json& part : member(json, "pretokenizers")) add(part, origin);
  } else if (type == "Split") {
    add_split(json, origin);
  } else if (type == "Digits") {
    steps_.emplace_back().splitter.emplace(
        TextSplitter::digits(flag(json, "individual_digits", false, origin)));
  } else if (type == "Punctuation") {
    Step& step = steps_.emplace_back();
    step.splitter.emplace(TextSplitter::punctuation());
    if (json.contains("behavior")) step.behavior = behavior_of(json["behavior"], origin);
  } else if (type == "Metaspace") {
    add_metaspace(json, origin);
  } else if (type == "ByteLevel") {
    add_byte_level(flag(json, "add_prefix_space", true, origin), flag(json, "use_regex", true, origin));
  } else {
    refuse_pre_tokenizer(origin, "", json,
                         "null, ByteLevel, Metaspace, Split, Digits, Punctuation, or a Sequence of them");
  }
}

void PreTokenizer::run(size_t step, std::string_view text, Place place, const Take& take) const {
  if (text.empty()) return;
  if (step == steps_.size()) return take(text);
  const Step& now = steps_[step];
  if (now.splitter) return split(step, text, place, take);
  std::string changed;
  if (!now.space.empty()) {
    for (size_t space; (space = text.find(' ')) != std::string_view::npos; text.remove_prefix(space + 1))
      changed.append(text.substr(0, space)).append(now.space);
    changed.append(text);
    text = changed;
  }
  const bool wanted = !place.joined && (now.scheme == PrependScheme::kAlways ||
                                        (now.scheme == PrependScheme::kFirst && place.first));
  if (wanted && !text.starts_with(now.prefix)) {
    std::string longer = now.prefix;
    longer += text;
    changed = std::move(longer);
    text = changed;
  }
  run(step + 1, text, place, take);
}

void PreTokenizer::split(size_t step, std::string_view text, Place place, const Take& take) const {
  const Step& now = steps_[step];
  const auto go_on = [&](std::string_view part) {
    const bool front = part.data() == text.data();
    run(step + 1, part, {place.first && front, place.joined && front}, take);
  };
  TextSplitter::Cut cut(*now.splitter, text);
  if (now.behavior == Behavior::kIsolated || now.behavior == Behavior::kRemoved) {
    for (std::string_view part; !(part = cut.next()).empty();)
      if (now.behavior == Behavior::kIsolated || cut.matched() == now.invert) go_on(part);
    return;
  }
  std::vector<Part> parts;
  for (std::string_view part; !(part = cut.next()).empty();)
    parts.push_back({part, cut.matched() != now.invert});
  const bool from_behind = now.behavior == Behavior::kMergedWithNext;
  if (from_behind) std::ranges::reverse(parts);
  std::vector<std::string_view> merged;
  bool before = false;  // whether the last part matched
  for (const auto& [part, matched] : parts) {
    const bool merges = now.behavior == Behavior::kContiguous ? matched == before : matched && !before;
    if (merges && !merged.empty())
      merged.back() = from_behind ? together(part, merged.back()) : together(merged.back(), part);
    else
      merged.push_back(part);
    before = matched;
  }
  if (from_behind) std::ranges::reverse(merged);
  for (const std::string_view part : merged) go_on(part);
}

}  // namespace temper::policy
