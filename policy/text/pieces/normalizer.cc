#include "policy/text/pieces/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/input/json.h"
#include "policy/text/pieces/characters.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostReplacedBytes = 64;
constexpr std::string_view kSupported =
    "null, NFC, NFD, NFKC, NFKD, Replace of a String, Prepend, Strip, or a Sequence of them";

[[noreturn]] void refuse_normalizer(const std::string& origin, const Json& value) {
  throw ConfigError("{}: normalizer = {} is not supported: must be {}", origin, shown(value), kSupported);
}

std::string short_text(const Json& json, const char* field, const std::string& origin, const Json& whole) {
  const auto found = json.find(field);
  if (found == json.end() || !found->is_string() ||
      found->get_ref<const std::string&>().size() > kMostReplacedBytes)
    refuse_normalizer(origin, whole);
  return found->get<std::string>();
}

int form_of(const std::string& type) {
  if (type == "NFC") return UTF8PROC_COMPOSE;
  if (type == "NFD") return UTF8PROC_DECOMPOSE;
  if (type == "NFKC") return UTF8PROC_COMPOSE | UTF8PROC_COMPAT;
  if (type == "NFKD") return UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT;
  return 0;
}

std::string normal_form(std::string_view text, int form) {
  utf8proc_uint8_t* mapped = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), utf8proc_ssize_t(text.size()),
                   &mapped, utf8proc_option_t(UTF8PROC_STABLE | form));
  TEMPER_CHECK(size >= 0, "utf8proc: {}", utf8proc_errmsg(size));
  std::string normal(reinterpret_cast<const char*>(mapped), size_t(size));
  std::free(mapped);
  return normal;
}

// The first byte that a normal form may change: below U+00A0 all are the same, below U+0300 composed ones too.
size_t first_changed(std::string_view text, int form) {
  const uint8_t lowest = form == UTF8PROC_COMPOSE ? 0xCC : 0xC2;
  return size_t(std::ranges::find_if(text, [=](char c) { return uint8_t(c) >= lowest; }) - text.begin());
}

}  // namespace

struct Normalizer::Work {
  std::string_view text;
  std::string* buffer;           // holds `text` once it has changed
  std::vector<size_t>* origins;  // null: nobody asks
  Place* place;

  void become(std::string changed, std::vector<size_t> from) {
    *buffer = std::move(changed);
    text = *buffer;
    if (origins) *origins = std::move(from);
  }
  size_t origin(size_t at) const { return origins ? (*origins)[at] : 0; }
};

Normalizer::Normalizer(const Json& json, const std::string& origin) { add(json, origin); }

Normalizer Normalizer::composing() {
  Normalizer normalizer;
  normalizer.steps_.push_back({.kind = Kind::kNormalForm, .form = UTF8PROC_COMPOSE, .from = {}, .to = {}});
  return normalizer;
}

void Normalizer::add(const Json& json, const std::string& origin) {
  if (json.is_null()) return;
  const Json type = json.is_object() ? json.value("type", Json()) : Json();
  if (!type.is_string()) refuse_normalizer(origin, json);
  Step step{.kind = Kind::kNormalForm, .form = form_of(type.get<std::string>()), .from = {}, .to = {}};
  if (type == "Sequence") {
    const Json parts = json.value("normalizers", Json());
    if (!parts.is_array()) refuse_normalizer(origin, json);
    for (const Json& part : parts) add(part, origin);
    return;
  }
  if (type == "Replace") {
    step.kind = Kind::kReplace;
    step.from = short_text(json.value("pattern", Json()).is_object() ? json["pattern"] : json, "String",
                           origin, json);
    step.to = short_text(json, "content", origin, json);
    if (step.from.empty()) refuse_normalizer(origin, json);
  } else if (type == "Prepend") {
    step.kind = Kind::kPrepend;
    step.to = short_text(json, "prepend", origin, json);
  } else if (type == "Strip") {
    step.kind = Kind::kStrip;
    step.left = json.value("strip_left", Json(false)) == true;
    step.right = json.value("strip_right", Json(false)) == true;
  } else if (step.form == 0) {
    refuse_normalizer(origin, json);
  }
  steps_.push_back(std::move(step));
}

void Normalizer::run(const Step& step, Work& work) {
  const std::string_view text = work.text;
  std::string out;
  std::vector<size_t> from;
  const auto copy = [&](size_t begin, size_t end) {
    out.append(text.substr(begin, end - begin));
    if (work.origins)
      from.insert(from.end(), work.origins->begin() + std::ptrdiff_t(begin),
                  work.origins->begin() + std::ptrdiff_t(end));
  };
  const auto put = [&](std::string_view more, size_t at) {
    out.append(more);
    if (work.origins) from.insert(from.end(), more.size(), work.origin(at));
  };
  switch (step.kind) {
    case Kind::kPrepend:
      if (text.empty() || work.place->joined) return;
      put(step.to, 0);
      copy(0, text.size());
      break;
    case Kind::kReplace: {
      size_t at = text.find(step.from);
      if (at == std::string_view::npos) return;
      size_t done = 0;
      for (; at != std::string_view::npos; at = text.find(step.from, done)) {
        copy(done, at);
        put(step.to, at);
        done = at + step.from.size();
      }
      copy(done, text.size());
      break;
    }
    case Kind::kStrip: {
      const size_t end = step.right ? space_before(text) : text.size();
      const size_t begin = step.left ? space_after(text.substr(0, end)) : 0;
      if (begin == 0 && end == text.size()) return;
      if (begin > 0) work.place->first = false;
      copy(begin, end);
      break;
    }
    case Kind::kNormalForm: {
      const size_t same = first_changed(text, step.form);
      if (same == text.size()) return;
      // The character before may be joined with the first that is changed. Without origins the rest is done at once.
      const size_t begin = same > 0 ? same - 1 : 0;
      size_t keep = begin;
      while (keep > 0 && (uint8_t(text[keep]) & 0xC0) == 0x80) --keep;
      copy(0, keep);
      if (!work.origins) {
        put(normal_form(text.substr(keep), step.form), keep);
        break;
      }
      for (size_t at = keep; at < text.size();) {
        // An ASCII character is joined with nothing in front of it, and nothing is moved across it.
        size_t end = at + 1;
        while (end < text.size() && uint8_t(text[end]) >= 0x80) ++end;
        put(normal_form(text.substr(at, end - at), step.form), at);
        at = end;
      }
      break;
    }
  }
  if (work.origins) from.push_back(work.origins->back());
  work.become(std::move(out), std::move(from));
}

std::string_view Normalizer::apply(std::string_view text, Place& place, std::string& buffer,
                                   std::vector<size_t>* origins) const {
  if (origins) {
    origins->resize(text.size() + 1);
    std::iota(origins->begin(), origins->end(), size_t(0));
  }
  Work work{text, &buffer, origins, &place};
  for (const Step& step : steps_) run(step, work);
  return work.text;
}

std::string Normalizer::of_name(const std::string& name) const {
  std::string buffer;
  Place place;
  return std::string(apply(name, place, buffer));
}

}  // namespace temper::policy
