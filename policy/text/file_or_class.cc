#include "policy/text/file_or_class.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace temper::policy {
namespace {

using Json = nlohmann::json;

constexpr PrependScheme kSchemes[] = {PrependScheme::kNever, PrependScheme::kFirst, PrependScheme::kAlways};

const Json& at(const Json& json, const char* name) {
  static const Json null;
  const auto found = json.is_object() ? json.find(name) : json.end();
  return json.is_object() && found != json.end() ? *found : null;
}

bool has_byte_level(const Json& json) {
  if (!json.is_object()) return false;
  if (json.value("type", Json()) == "ByteLevel") return true;
  const Json parts = json.value("pretokenizers", Json());
  return parts.is_array() && std::ranges::any_of(parts, has_byte_level);
}

// What transformers 4 saved of sentencepiece models.
Json replacement() { return {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}; }

Normalizer replacing() { return Normalizer(replacement(), ""); }

Normalizer prepending() {
  const Json prepend = {{"type", "Prepend"}, {"prepend", "\u2581"}};
  const Json both = {{"type", "Sequence"}, {"normalizers", Json::array({prepend, replacement()})}};
  return Normalizer(both, "");
}

// The ids of texts depend on these; on `special` they do not.
bool same_tokens(const AddedTokens& a, const AddedTokens& b) {
  return std::ranges::equal(a.by_id(), b.by_id(), [](const auto& left, const auto& right) {
    AddedToken one = left.second, other = right.second;
    one.special = other.special = false;
    return one == other;
  });
}

}  // namespace

FileOrClass::FileOrClass(const Json& json, const std::string& origin, const FolderTokens* folder)
    : json_(json),
      origin_(origin),
      folder_(folder),
      bytes_(has_byte_level(at(json, "pre_tokenizer"))),
      class_(comparable() && !bytes_ && places_spaces_alone()) {}

// In one of the ways of sentencepiece's models, whose bytes all have a piece.
bool FileOrClass::places_spaces_alone() const {
  const Json &model = at(json_, "model"), &vocab = at(model, "vocab");
  if (at(model, "byte_fallback") != true || at(model, "ignore_merges") == true) return false;
  for (int byte = 0; byte < 256; ++byte)
    if (!vocab.is_object() || !vocab.contains(fmt::format("<0x{:02X}>", byte))) return false;
  const Normalizer normalizer(at(json_, "normalizer"), origin_);
  const PreTokenizer pre_tokenizer(at(json_, "pre_tokenizer"), origin_);
  if (pre_tokenizer == PreTokenizer())
    return normalizer.empty() || normalizer == replacing() || normalizer == prepending();
  return normalizer.empty() && std::ranges::any_of(kSchemes, [&](PrependScheme scheme) {
           return pre_tokenizer == PreTokenizer::metaspace(scheme);
         });
}

// Prepend puts a space before each text, even where it begins with one, which no scheme does.
bool FileOrClass::places_spaces_alike() const {
  const Normalizer normalizer(at(json_, "normalizer"), origin_);
  const PreTokenizer pre_tokenizer(at(json_, "pre_tokenizer"), origin_);
  const PrependScheme scheme = folder_->prepend_scheme();
  return pre_tokenizer == PreTokenizer::metaspace(scheme) ||
         (normalizer == replacing() && scheme == PrependScheme::kNever);
}

Normalizer FileOrClass::normalizer() const {
  return class_ ? Normalizer() : Normalizer(at(json_, "normalizer"), origin_);
}

PreTokenizer FileOrClass::pre_tokenizer() const {
  return class_ ? PreTokenizer::metaspace(folder_->prepend_scheme())
                : PreTokenizer(at(json_, "pre_tokenizer"), origin_);
}

std::vector<std::string> FileOrClass::other_fields(bool unknown) const {
  std::vector<std::string> fields;
  if (normalizer() != (folder_->composes() ? Normalizer::composing() : Normalizer()))
    fields.emplace_back("normalizer");
  const PreTokenizer rebuilt = bytes_
                                   ? PreTokenizer::byte_level(folder_->pattern(), folder_->add_prefix_space())
                                   : PreTokenizer::metaspace(folder_->prepend_scheme());
  if (pre_tokenizer() != rebuilt) fields.emplace_back("pre_tokenizer");
  const Json& model = at(json_, "model");
  if (at(model, "ignore_merges") == true) fields.emplace_back("model.ignore_merges");
  if (!bytes_ && at(model, "byte_fallback") != true) fields.emplace_back("model.byte_fallback");
  if (unknown) fields.emplace_back("model.unk_token");
  return fields;
}

std::vector<std::string> FileOrClass::remarks(bool unknown, const AddedTokens& of_file,
                                              const AddedTokens& of_class) const {
  if (!folder_ || folder_->class_name().empty()) return {};
  const std::string name = folder_->class_name();
  constexpr const char* kFile =
      "tokenizer: ids are those of tokenizer.json; transformers 5 takes the class {} for this folder, which "
      "{}, "
      "and can give other ids";
  if (!comparable())
    return {
        fmt::format(kFile, name, fmt::format("is one for pieces of {}", bytes_ ? "characters" : "bytes"))};
  const bool same_added = same_tokens(of_file, of_class);
  if (class_) {
    std::vector<std::string> others;
    if (!places_spaces_alike()) others.emplace_back("spaces before texts elsewhere");
    if (!same_added) others.emplace_back("other added tokens");
    if (others.empty()) return {};
    return {
        fmt::format("tokenizer: ids are those of the class {}, which transformers 5 takes for this folder; "
                    "tokenizer.json "
                    "alone has {}, and can give other ids",
                    name, fmt::join(others, " and "))};
  }
  std::vector<std::string> fields = other_fields(unknown);
  if (!same_added) fields.emplace_back("added_tokens");
  if (fields.empty()) return {};
  return {fmt::format(kFile, name, fmt::format("leaves out its {}", fmt::join(fields, " and its ")))};
}

}  // namespace temper::policy
