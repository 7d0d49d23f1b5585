#include "policy/text/bpe_json.h"

#include <utf8proc.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "policy/text/file_or_class.h"
#include "policy/text/pieces/byte_pairs.h"
#include "policy/text/pieces/characters.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;
using Ids = std::unordered_map<std::string, int32_t>;

// Gemma 3's has 1.9 million values in 33 MB.
constexpr JsonLimits kLimits{.bytes = 48 << 20, .values = 2'200'000};
constexpr std::string_view kMark = "\xE2\x96\x81";  // a space in pieces of characters

class BpeEncoder : public TextEncoder {
 public:
  BpeEncoder(Normalizer normalizer, PreTokenizer pre_tokenizer, std::unique_ptr<BytePairs> pairs)
      : normalizer_(std::move(normalizer)),
        pre_tokenizer_(std::move(pre_tokenizer)),
        pairs_(std::move(pairs)) {}

  const Normalizer& normalizer() const override { return normalizer_; }
  void encode(std::string_view text, Place place, std::vector<int32_t>& ids) const override {
    pre_tokenizer_.each(text, place, [&](std::string_view piece) { pairs_->encode(piece, ids); });
  }
  void encode_byte(uint8_t byte, std::vector<int32_t>& ids) const override { pairs_->encode_byte(byte, ids); }
  int64_t lost_bytes() const override { return pairs_->lost_bytes(); }

 private:
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  std::unique_ptr<BytePairs> pairs_;
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
  while (!piece.empty()) {
    const Character next = first_of(piece);
    if (next.point >= bytes.size() || bytes[next.point] < 0) return std::nullopt;
    text.push_back(char(bytes[next.point]));
    piece.remove_prefix(next.bytes);
  }
  return text;
}

// "<0x41>" → 65.
std::optional<uint8_t> fallback_byte(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  uint8_t value = 0;
  const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
  // `tokenizers` writes them in capitals.
  const bool capitals = std::ranges::none_of(piece.substr(3, 2), [](char c) { return c >= 'a'; });
  return error == std::errc() && end == piece.data() + 5 && capitals ? std::optional(value) : std::nullopt;
}

std::string spaces_for_marks(std::string_view piece) {
  std::string text;
  for (size_t mark; (mark = piece.find(kMark)) != std::string_view::npos;) {
    text.append(piece.substr(0, mark)).push_back(' ');
    piece.remove_prefix(mark + kMark.size());
  }
  return text.append(piece);
}

// Reads the fields with messages that name the file.
class Reader {
 public:
  Reader(const Json& json, const std::string& origin, const FolderTokens* folder)
      : json_(json),
        origin_(origin),
        folder_(folder),
        choice_(json, origin, folder),
        bytes_(choice_.bytes()),
        rebuilds_(choice_.by_class()) {}

  TokenizerParts read() const {
    check_kind();
    TokenizerParts parts;
    parts.kind = fmt::format("byte-pair encoding of {} in tokenizer.json", bytes_ ? "bytes" : "characters");
    const Ids ids = vocabulary(parts);
    const auto find = [&](const std::string& name) {
      const auto found = ids.find(name);
      return found == ids.end() ? std::nullopt : std::optional<int64_t>(found->second);
    };
    AddedTokens of_file(std::ssize(ids), find), of_class(std::ssize(ids), find);
    for (AddedToken& token : added_tokens()) of_file.add(std::move(token));
    folder_->add_to(of_file, false);
    if (choice_.comparable()) folder_->add_to(of_class, true);
    const AddedTokens& added = rebuilds_ ? of_class : of_file;
    check_new_ids(added, ids, parts);
    take_added_tokens(parts, added, origin_);
    const Alphabet characters = alphabet(ids);
    parts.remarks = choice_.remarks(bytes_ && characters.unknown >= 0, of_file, of_class);
    auto pairs =
        std::make_unique<BytePairs>(characters, merges(ids, added), whole_pieces(ids, added), texts_of(ids));
    parts.encoder =
        std::make_unique<BpeEncoder>(choice_.normalizer(), choice_.pre_tokenizer(), std::move(pairs));
    return parts;
  }

  std::vector<AddedToken> added_tokens() const {
    std::vector<AddedToken> added;
    const Json& list = at(json_, "added_tokens");
    if (list.is_null()) return added;
    if (!list.is_array()) refuse("added_tokens", list, "a list");
    for (const Json& token : list) {
      const auto id = whole_number(at(token, "id"));
      // `tokenizers` reads 32 bits, and then gives the ids itself.
      if (!id || *id < 0 || *id > UINT32_MAX)
        refuse("added_tokens", token, "a list of objects with an id of 0 to 4294967295");
      added.push_back(read_added_token(token, origin_ + ": added_tokens"));
      added.back().id = *id;
    }
    return added;
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
  bool model_flag(const char* name) const {
    const Json& value = at(at(json_, "model"), name);
    if (!value.is_null() && !value.is_boolean())
      refuse(fmt::format("model.{}", name), value, "true or false");
    return value == true;
  }

  void check_kind() const {
    const Json& model = at(json_, "model");
    if (!model.is_object()) throw ConfigError("{}: model is missing", origin_);
    if (model.contains("type") && !is_type(model, "BPE")) refuse("model.type", model["type"], "\"BPE\"");
    for (const char* field : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
      if (const Json& value = at(model, field); !value.is_null() && value != "" && value != 0.0)
        refuse(fmt::format("model.{}", field), value, "null");
    check_decoder(at(json_, "decoder"));
  }

  void check_decoder(const Json& decoder) const {
    if (bytes_) {
      if (!is_type(decoder, "ByteLevel")) refuse("decoder", decoder, "of type ByteLevel");
      return;
    }
    const Json& parts = at(decoder, "decoders");
    const auto known = [&](const Json& part) {
      return is_type(part, "ByteFallback") || is_type(part, "Fuse") || is_type(part, "Metaspace") ||
             (is_type(part, "Strip") && at(part, "content") == " ") ||
             (is_type(part, "Replace") && at(at(part, "pattern"), "String") == kMark &&
              at(part, "content") == " ");
    };
    const bool sequence = is_type(decoder, "Sequence") && parts.is_array();
    if (sequence ? !std::ranges::all_of(parts, known) : !known(decoder))
      refuse("decoder", decoder,
             "Metaspace, or a Sequence of Replace of \u2581 by a space, ByteFallback, Fuse and Strip of "
             "spaces (ByteLevel "
             "where the pre_tokenizer has it)");
  }

  // Fills parts.texts. Returns the file's pieces with their ids.
  Ids vocabulary(TokenizerParts& parts) const {
    const Json& vocab = at(at(json_, "model"), "vocab");
    if (!vocab.is_object()) refuse("model.vocab", vocab, "an object of pieces and their ids");
    const size_t limit = 2 * vocab.size() + 1024;
    std::vector<bool> taken;
    Ids ids;
    ids.reserve(vocab.size());
    for (const auto& [piece, id] : vocab.items()) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= limit)
        throw ConfigError("{}: model.vocab: id {} of '{}' is not in [0, {})", origin_, shown(id),
                          printable(piece), limit);
      const auto number = id.get<size_t>();
      if (number >= parts.texts.size()) parts.texts.resize(number + 1), taken.resize(number + 1);
      if (taken[number])
        throw ConfigError("{}: model.vocab: id {} has two pieces, one of them '{}'", origin_, number,
                          printable(piece));
      taken[number] = true;
      parts.texts[number] = text_of(piece);
      ids.emplace(piece, int32_t(number));
    }
    return ids;
  }

  std::string text_of(const std::string& piece) const {
    // A piece outside of the alphabet of bytes is never met in a text, and decoded as it is written.
    if (bytes_) return bytes_of(piece).value_or(piece);
    if (const auto byte = fallback_byte(piece); byte && falls_back()) return std::string(1, char(*byte));
    return spaces_for_marks(piece);
  }

  bool falls_back() const { return !bytes_ && model_flag("byte_fallback"); }

  Alphabet alphabet(const Ids& ids) const {
    Alphabet alphabet;
    alphabet.bytes = bytes_;
    alphabet.byte_ids.fill(-1);
    alphabet.byte_fallback = falls_back();
    for (const auto& [piece, id] : ids) {
      if (bytes_) {
        if (const auto text = bytes_of(piece); text && text->size() == 1)
          alphabet.byte_ids[uint8_t((*text)[0])] = id;
      } else {
        if (const auto byte = fallback_byte(piece)) alphabet.byte_ids[*byte] = id;
        if (!piece.empty() && first_of(piece).bytes == piece.size())
          alphabet.characters.emplace(first_of(piece).point, id);
      }
    }
    if (bytes_ && model_flag("byte_fallback") && std::ranges::count(alphabet.byte_ids, -1) > 0)
      refuse("model.byte_fallback", true,
             "false where the pre_tokenizer makes bytes and model.vocab lacks some");
    unknown(ids, alphabet);
    return alphabet;
  }

  void unknown(const Ids& ids, Alphabet& alphabet) const {
    const Json& token = rebuilds_ ? folder_->unknown_token() : at(at(json_, "model"), "unk_token");
    alphabet.fuse_unknown = rebuilds_ || model_flag("fuse_unk");
    const bool all = bytes_ && std::ranges::count(alphabet.byte_ids, -1) == 0;
    if (token.is_null() || all) return;  // where all bytes have a piece nothing is unknown
    const auto found = token.is_string() ? ids.find(token.get<std::string>()) : ids.end();
    // `tokenizers` fails once it meets what is unknown.
    if (found == ids.end()) refuse("model.unk_token", token, "null or a piece of model.vocab");
    alphabet.unknown = found->second;
  }

  // A merge is "left right", or ["left", "right"] in newer files. None makes a special token: text cannot pose as one.
  std::vector<BytePairs::Merge> merges(const Ids& ids, const AddedTokens& added) const {
    const Json& list = at(at(json_, "model"), "merges");
    if (!list.is_array()) refuse("model.merges", list, "a list of pairs of pieces");
    std::vector<BytePairs::Merge> merges;
    merges.reserve(list.size());
    for (size_t entry = 0; entry < list.size(); ++entry) {
      const auto [left, right] = sides(list[entry]);
      const auto a = ids.find(left), b = ids.find(right), both = ids.find(left + right);
      if (a == ids.end() || b == ids.end() || both == ids.end())
        throw ConfigError(
            "{}: model.merges: entry {}, {}, does not name two pieces of model.vocab whose join is one",
            origin_, entry, shown(list[entry]));
      const auto token = added.by_id().find(both->second);
      if (token == added.by_id().end() || !token->second.special)
        merges.push_back({a->second, b->second, both->second});
    }
    return merges;
  }

  static std::pair<std::string, std::string> sides(const Json& entry) {
    if (entry.is_string()) {
      const auto& text = entry.get_ref<const std::string&>();
      const size_t space = text.find(' ');
      return {text.substr(0, space), space == std::string::npos ? "" : text.substr(space + 1)};
    }
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string())
      return {entry[0].get<std::string>(), entry[1].get<std::string>()};
    return {};
  }

  // With ignore_merges a piece of the vocabulary is one token at once; an added token's name never is.
  Ids whole_pieces(const Ids& ids, const AddedTokens& added) const {
    if (!model_flag("ignore_merges")) return {};
    Ids whole;
    whole.reserve(ids.size());
    for (const auto& [piece, id] : ids) {
      if (added.find(piece)) continue;
      if (auto text = bytes_ ? bytes_of(piece) : piece; text && !text->empty())
        whole.emplace(std::move(*text), id);
    }
    return whole;
  }

  std::vector<std::string> texts_of(const Ids& ids) const {
    std::vector<std::string> texts;
    if (!bytes_)
      for (const auto& [piece, id] : ids) texts.push_back(piece);
    return texts;
  }

  // `tokenizers` numbers new tokens from the number of pieces onwards, which other pieces may have where ids are left out.
  void check_new_ids(const AddedTokens& added, const Ids& ids, const TokenizerParts& parts) const {
    if (parts.texts.size() == ids.size()) return;
    std::set<int64_t> pieces;
    for (const auto& [piece, id] : ids) pieces.insert(id);
    for (const auto& [id, token] : added.by_id())
      if (!ids.contains(token.name) && pieces.contains(id))
        throw ConfigError("{}: added token '{}' gets id {}, which a piece of model.vocab has", origin_,
                          printable(token.name), id);
  }

  const Json& json_;
  const std::string& origin_;
  const FolderTokens* folder_;
  const FileOrClass choice_;
  const bool bytes_;     // pieces are of bytes
  const bool rebuilds_;  // pieces and merges alone are this file's
};

}  // namespace

BpeJson::BpeJson(const std::string& content, const std::string& origin)
    : json_(parse_json_object(content, origin, kLimits)), origin_(origin) {}

bool BpeJson::is_bpe() const {
  const auto model = json_.find("model");
  return model != json_.end() && model->is_object() && model->value("type", Json("BPE")) == "BPE";
}

std::vector<AddedToken> BpeJson::added_tokens() const {
  return Reader(json_, origin_, nullptr).added_tokens();
}

TokenizerParts BpeJson::read(const FolderTokens& folder) const {
  return Reader(json_, origin_, &folder).read();
}

}  // namespace temper::policy
