#include "policy/text/byte_level_json.h"

#include <utf8proc.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "base/input/utf8.h"
#include "policy/text/byte_pairs.h"
#include "policy/text/text_splitter.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;
using Ids = std::unordered_map<std::string, int32_t>;

// Gemma 3's has 1.9 million values in 33 MB.
constexpr JsonLimits kLimits{.bytes = 48 << 20, .values = 2'200'000};

// Normalisation form C. Text below U+0300 is in it already.
std::string normal_form(std::string_view text) {
  utf8proc_uint8_t* mapped = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), utf8proc_ssize_t(text.size()),
                   &mapped, utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  TEMPER_CHECK(size >= 0, "utf8proc: {}", utf8proc_errmsg(size));
  std::string normal(reinterpret_cast<const char*>(mapped), size_t(size));
  std::free(mapped);
  return normal;
}

bool may_change(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return uint8_t(c) >= 0xCC; });
}

class ByteLevelEncoder : public TextEncoder {
 public:
  ByteLevelEncoder(std::unique_ptr<BytePairs> pairs, std::unique_ptr<TextSplitter> splitter, bool normalises)
      : pairs_(std::move(pairs)), splitter_(std::move(splitter)), normalises_(normalises) {}

  void encode(std::string_view text, bool, std::vector<int32_t>& ids) const override {
    while (!text.empty()) {
      const size_t valid = valid_utf8_prefix(text);
      encode_valid(text.substr(0, valid), ids);
      if (valid < text.size()) ids.push_back(pairs_->byte_id(uint8_t(text[valid])));
      text.remove_prefix(std::min(text.size(), valid + 1));
    }
  }

 private:
  void encode_valid(std::string_view text, std::vector<int32_t>& ids) const {
    std::string normal;
    if (normalises_ && may_change(text)) text = normal = normal_form(text);
    TextSplitter::Cut cut(*splitter_, text);
    for (std::string_view piece; !(piece = cut.next()).empty();) pairs_->encode(piece, ids);
  }

  std::unique_ptr<BytePairs> pairs_;
  std::unique_ptr<TextSplitter> splitter_;
  bool normalises_;
};

// GPT-2's alphabet: printable bytes stand for themselves, the others are U+0100 onwards in rising order.
std::array<int16_t, 0x200> byte_of_point() {
  std::array<int16_t, 0x200> bytes;
  bytes.fill(-1);
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    bytes[size_t(printable ? byte : next++)] = int16_t(byte);
  }
  return bytes;
}

// The bytes that a piece of the file's alphabet stands for; none where it leaves the alphabet.
std::optional<std::string> bytes_of(std::string_view piece) {
  static const auto bytes = byte_of_point();
  std::string text;
  for (size_t at = 0; at < piece.size();) {
    utf8proc_int32_t point = 0;
    const auto used = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(piece.data()) + at,
                                       utf8proc_ssize_t(piece.size() - at), &point);
    if (used <= 0 || point >= int32_t(bytes.size()) || bytes[size_t(point)] < 0) return std::nullopt;
    text.push_back(char(bytes[size_t(point)]));
    at += size_t(used);
  }
  return text;
}

// Reads the fields with messages that name the file.
class Reader {
 public:
  Reader(const Json& json, const std::string& origin) : json_(json), origin_(origin) {}

  TokenizerParts read() const {
    check_kind();
    const std::vector<AddedToken> added = added_tokens();
    TokenizerParts parts;
    Ids ids = vocabulary(parts);
    auto pairs = std::make_unique<BytePairs>(byte_ids(ids), merges(ids), whole_pieces(ids, added));
    add_tokens(parts, added, origin_);
    check_no_holes(parts);
    parts.encoder = std::make_unique<ByteLevelEncoder>(std::move(pairs), splitter(), normalises());
    return parts;
  }

 private:
  [[noreturn]] void refuse(std::string_view field, const Json& value, std::string_view allowed) const {
    throw ConfigError("{}: {} = {} is not supported: must be {}", origin_, field, shown(value), allowed);
  }
  static const Json& at(const Json& json, const char* name) {
    static const Json null;
    if (!json.is_object()) return null;
    const auto found = json.find(name);
    return found == json.end() ? null : *found;
  }
  static bool is_type(const Json& json, const char* type) { return at(json, "type") == type; }

  void check_no_holes(const TokenizerParts& parts) const {
    std::vector<bool> known(parts.texts.size());
    for (size_t id = 0; id < known.size(); ++id) known[id] = !parts.texts[id].empty();
    for (const auto& [name, token] : parts.added) known[size_t(token.id)] = true;
    if (const auto hole = std::ranges::find(known, false); hole != known.end())
      throw ConfigError("{}: model.vocab has no token for id {}", origin_, hole - known.begin());
  }

  void check_kind() const {
    const Json& model = at(json_, "model");
    if (!model.is_object()) throw ConfigError("{}: model is missing", origin_);
    if (model.contains("type") && !is_type(model, "BPE")) refuse("model.type", model["type"], "\"BPE\"");
    if (at(model, "byte_fallback") == true)
      throw ConfigError(
          "{}: describes a sentencepiece model (model.byte_fallback): tokenizer.model is needed beside it",
          origin_);
    for (const char* field : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
      if (const Json& value = at(model, field); !value.is_null() && value != "" && value != 0.0)
        refuse(fmt::format("model.{}", field), value, "null");
    if (!is_type(at(json_, "decoder"), "ByteLevel"))
      refuse("decoder", at(json_, "decoder"), "of type ByteLevel");
  }

  bool normalises() const {
    const Json& normalizer = at(json_, "normalizer");
    if (normalizer.is_null()) return false;
    if (is_type(normalizer, "NFC")) return true;
    refuse("normalizer", normalizer, "null or of type NFC");
  }

  // A Split by a known pattern and a ByteLevel that splits no further, or a ByteLevel with its own pattern.
  std::unique_ptr<TextSplitter> splitter() const {
    const Json& pre = at(json_, "pre_tokenizer");
    const std::string where = origin_ + ": pre_tokenizer";
    const bool bare = is_type(pre, "ByteLevel");
    const Json& parts = at(pre, "pretokenizers");
    const bool split = is_type(pre, "Sequence") && parts.is_array() && parts.size() == 2 &&
                       is_type(parts[0], "Split") && is_type(parts[1], "ByteLevel");
    if (!bare && !split) refuse("pre_tokenizer", pre, "a Split and a ByteLevel, or a ByteLevel");
    const Json& level = bare ? pre : parts[1];
    if (at(level, "add_prefix_space") == true) refuse("pre_tokenizer: add_prefix_space", true, "false");
    const bool own_pattern = at(level, "use_regex").is_null() || at(level, "use_regex") == true;
    if (own_pattern != bare)
      refuse("pre_tokenizer: use_regex", at(level, "use_regex"), bare ? "true" : "false");
    if (bare) return std::make_unique<TextSplitter>(TextSplitter::gpt2_pattern(), where);
    if (at(parts[0], "behavior") != "Isolated")
      refuse("pre_tokenizer: behavior", at(parts[0], "behavior"), "\"Isolated\"");
    if (at(parts[0], "invert") == true) refuse("pre_tokenizer: invert", true, "false");
    const Json& pattern = at(at(parts[0], "pattern"), "Regex");
    if (!pattern.is_string()) refuse("pre_tokenizer: pattern", at(parts[0], "pattern"), "{\"Regex\": \"…\"}");
    return std::make_unique<TextSplitter>(pattern.get_ref<const std::string&>(), where);
  }

  std::vector<AddedToken> added_tokens() const {
    std::vector<AddedToken> added;
    const Json& list = at(json_, "added_tokens");
    if (list.is_null()) return added;
    if (!list.is_array()) refuse("added_tokens", list, "a list");
    for (const Json& token : list) {
      const auto id = whole_number(at(token, "id"));
      const Json& content = at(token, "content");
      if (!id || !content.is_string() || content == "")
        refuse("added_tokens", token, "a list of objects with an integer id and a content");
      added.push_back({*id, content.get<std::string>(), at(token, "special") == true});
    }
    return added;
  }

  // Fills parts.texts. Returns the file's pieces with their ids.
  Ids vocabulary(TokenizerParts& parts) const {
    const Json& vocab = at(at(json_, "model"), "vocab");
    if (!vocab.is_object()) refuse("model.vocab", vocab, "an object of pieces and their ids");
    Ids ids;
    ids.reserve(vocab.size());
    for (const auto& [piece, id] : vocab.items()) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= 2 * vocab.size() + 1024)
        throw ConfigError("{}: model.vocab: id {} of '{}' is not in [0, {})", origin_, shown(id),
                          printable(piece), 2 * vocab.size() + 1024);
      const auto number = id.get<size_t>();
      if (number >= parts.texts.size()) parts.texts.resize(number + 1);
      const auto text = bytes_of(piece);
      if (!text || text->empty())
        throw ConfigError("{}: model.vocab: '{}' is not in the byte alphabet", origin_, printable(piece));
      if (!parts.texts[number].empty())
        throw ConfigError("{}: model.vocab: id {} has two pieces, one of them '{}'", origin_, number,
                          printable(piece));
      parts.texts[number] = *text;
      ids.emplace(piece, int32_t(number));
    }
    return ids;
  }

  std::array<int32_t, 256> byte_ids(const Ids& ids) const {
    std::array<int32_t, 256> found;
    found.fill(-1);
    for (const auto& [piece, id] : ids)
      if (const auto text = bytes_of(piece); text->size() == 1) found[uint8_t((*text)[0])] = id;
    if (const auto none = std::ranges::find(found, -1); none != found.end())
      throw ConfigError("{}: model.vocab has no piece for byte {}", origin_, none - found.begin());
    return found;
  }

  // A merge is "left right", or ["left", "right"] in newer files.
  std::vector<BytePairs::Merge> merges(const Ids& ids) const {
    const Json& list = at(at(json_, "model"), "merges");
    if (!list.is_array()) refuse("model.merges", list, "a list of pairs of pieces");
    std::vector<BytePairs::Merge> merges;
    merges.reserve(list.size());
    for (const Json& entry : list) {
      std::string left, right;
      if (entry.is_string()) {
        const auto& text = entry.get_ref<const std::string&>();
        const size_t space = text.find(' ');
        left = text.substr(0, space);
        right = space == std::string::npos ? "" : text.substr(space + 1);
      } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
        left = entry[0].get_ref<const std::string&>(), right = entry[1].get_ref<const std::string&>();
      }
      const auto a = ids.find(left), b = ids.find(right), both = ids.find(left + right);
      if (a == ids.end() || b == ids.end() || both == ids.end())
        throw ConfigError(
            "{}: model.merges: entry {}, {}, does not name two pieces of model.vocab whose join is one",
            origin_, merges.size(), shown(entry));
      merges.push_back({a->second, b->second, both->second});
    }
    return merges;
  }

  // With ignore_merges a piece of the vocabulary is one token at once; an added token's name never is.
  Ids whole_pieces(const Ids& ids, const std::vector<AddedToken>& added) const {
    if (at(at(json_, "model"), "ignore_merges") != true) return {};
    std::set<std::string_view> names;
    for (const AddedToken& token : added) names.insert(token.name);
    Ids whole;
    whole.reserve(ids.size());
    for (const auto& [piece, id] : ids)
      if (!names.contains(piece)) whole.emplace(*bytes_of(piece), id);
    return whole;
  }

  const Json& json_;
  const std::string& origin_;
};

}  // namespace

TokenizerParts read_byte_level_json(const std::string& content, const std::string& origin) {
  const Json json = parse_json_object(content, origin, kLimits);
  return Reader(json, origin).read();
}

bool is_byte_level_json(const std::string& content, const std::string& origin) {
  const Json json = parse_json_object(content, origin, kLimits);
  const Json decoder = json.value("decoder", Json());
  return decoder.is_object() && decoder.value("type", Json()) == "ByteLevel";
}

}  // namespace temper::policy
