#include "policy/text/pieces/added_names.h"

#include <algorithm>

#include "base/input/utf8.h"

namespace temper::policy {
namespace {

std::vector<NameFinder::Name> names_of(const TokenizerParts& parts, bool normalized) {
  std::vector<NameFinder::Name> names;
  for (const auto& [id, token] : parts.added)
    if (token.normalized == normalized)
      names.push_back({normalized ? parts.encoder->normalizer().of_name(token.name) : token.name, token});
  return names;
}

// The contents that lie in `range`, counted from its begin.
std::vector<TextRange> contents_in(std::span<const TextRange> contents, TextRange range) {
  std::vector<TextRange> found;
  for (const TextRange& c : contents)
    if (c.end > range.begin && c.begin < range.end)
      found.push_back(
          {std::max(c.begin, range.begin) - range.begin, std::min(c.end, range.end) - range.begin});
  return found;
}

// The bytes of a normalised text that come from characters of a content. `origins`: see Normalizer::apply.
TextRange normalized_range(TextRange content, const std::vector<size_t>& origins) {
  // The character in which the content begins may have come from bytes before it.
  auto begin = std::ranges::upper_bound(origins, content.begin);
  if (begin != origins.begin()) begin = std::ranges::lower_bound(origins, *std::prev(begin));
  const auto end = std::ranges::lower_bound(origins, content.end);
  return {size_t(begin - origins.begin()), std::min(size_t(end - origins.begin()), origins.size() - 1)};
}

}  // namespace

AddedNames::AddedNames(const TokenizerParts& parts)
    : parts_(parts),
      raw_(names_of(parts, false)),
      normalized_(names_of(parts, true)),
      control_(parts.texts.size()),
      silent_(parts.texts.size()) {
  for (const auto& [id, token] : parts.added) {
    ids_[token.name] = int32_t(id);
    silent_[size_t(id)] = token.special;
    if (token.special) mark_control(int32_t(id));
  }
}

void AddedNames::mark_control(int32_t id) {
  control_[size_t(id)] = true;
  const auto token = parts_.added.find(id);
  guards_normalized_ = guards_normalized_ || (token != parts_.added.end() && token->second.normalized);
}

std::optional<int32_t> AddedNames::find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<int32_t> AddedNames::encode(std::string_view text, std::span<const TextRange> contents,
                                        Place place) const {
  std::vector<int32_t> ids;
  cut(raw_, {text, contents, place}, {&ids, nullptr}, &AddedNames::encode_bytes);
  return ids;
}

int64_t AddedNames::count_control(std::string_view content) const {
  int64_t refused = 0;
  const TextRange whole{0, content.size()};
  cut(raw_, {content, {&whole, 1}, {.first = true, .joined = false}}, {nullptr, &refused},
      &AddedNames::encode_bytes);
  return refused;
}

// Takes the tokens out of a text and gives `rest` what is between them.
void AddedNames::cut(const NameFinder& names, Part part, Work work,
                     void (AddedNames::*rest)(Part, Work) const) const {
  const auto found = names.find(part.text, {part.contents, &control_, work.refused});
  if (found.empty()) return (this->*rest)(part, work);
  size_t done = 0;
  const auto go_on = [&](size_t end) {
    if (done >= end) return;
    const auto contents = contents_in(part.contents, {done, end});
    const Place place = done == 0 ? part.place : Place{};
    (this->*rest)({part.text.substr(done, end - done), contents, place}, work);
  };
  for (const auto& [begin, end, token] : found) {
    go_on(begin);
    if (work.ids) work.ids->push_back(int32_t(token->id));
    done = end;
  }
  go_on(part.text.size());
}

void AddedNames::encode_bytes(Part part, Work work) const {
  for (size_t at = 0; at < part.text.size();) {
    const size_t valid = valid_utf8_prefix(part.text.substr(at));
    if (valid == part.text.size()) return encode_text(part, work);
    if (valid > 0) {
      const auto contents = contents_in(part.contents, {at, at + valid});
      encode_text({part.text.substr(at, valid), contents, part.place}, work);
    }
    part.place = {.first = false, .joined = true};
    at += valid;
    if (at < part.text.size() && work.ids) parts_.encoder->encode_byte(uint8_t(part.text[at]), *work.ids);
    ++at;
  }
}

void AddedNames::encode_text(Part part, Work work) const {
  const Normalizer& normalizer = parts_.encoder->normalizer();
  if (normalized_.empty() && !work.ids) return;
  const bool guards = guards_normalized_ && !part.contents.empty();
  std::string buffer;
  std::vector<size_t> origins;
  std::vector<TextRange> contents;
  if (!normalizer.empty()) {
    const bool whole = guards && part.contents[0].begin == 0 && part.contents[0].end == part.text.size();
    part.text = normalizer.apply(part.text, part.place, buffer, guards && !whole ? &origins : nullptr);
    if (whole) contents.push_back({0, part.text.size()});
    if (guards && !whole)
      for (const TextRange& content : part.contents) contents.push_back(normalized_range(content, origins));
    part.contents = contents;
  }
  if (part.text.empty()) return;
  cut(normalized_, part, work, &AddedNames::encode_normal);
}

void AddedNames::encode_normal(Part part, Work work) const {
  if (work.ids) parts_.encoder->encode(part.text, part.place, *work.ids);
}

}  // namespace temper::policy
