// What the files beside a tokenizer.json make of it: flags and names of tokens, the class. The vocabularies are small and
// read once; tests/fuzz/text/tokenizer_folder_fuzz.cc has whole folders. One line for each: tokenizer_config.json,
// special_tokens_map.json, added_tokens.json, config.json, a text.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/input/json.h"
#include "base/input/utf8.h"
#include "policy/text/bpe_json.h"
#include "policy/text/pieces/added_names.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"
#include "tests/policy/text/small_tokenizer_json.h"

namespace temper::policy {

namespace {

using Json = nlohmann::json;

// Most bytes have no piece.
Json few_bytes(const Json& pre_tokenizer) {
  Json json = small_tokenizer_json();
  json["pre_tokenizer"] = pre_tokenizer;
  json["model"]["merges"] = {"a b", "1 2"};
  json["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 2}, {"1", 3}, {"2", 4}, {"12", 5}, {spelled(' '), 6}};
  json["added_tokens"].push_back({{"id", 9}, {"content", "ab"}, {"special", false}, {"lstrip", true}});
  return json;
}

Json pieces(const Json& pre_tokenizer) {
  Json json = {{"pre_tokenizer", pre_tokenizer}, {"decoder", {{"type", "Metaspace"}}}};
  Json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2},   {"a", 3},
                {"b", 4},     {"ab", 5},  {"\u2581", 6}, {"\u2581a", 7}};
  for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = 8 + byte;
  json["model"] = {
      {"type", "BPE"}, {"vocab", vocab}, {"merges", {"a b", "\u2581 a"}}, {"byte_fallback", true}};
  json["added_tokens"] = {{{"id", 1}, {"content", "<s>"}, {"special", true}}};
  return json;
}

const std::vector<BpeJson>& vocabularies() {
  static const std::vector<BpeJson> all = [] {
    const Json level = {{"type", "ByteLevel"}, {"add_prefix_space", false}}, digits = {{"type", "Digits"}},
               space = {{"type", "Metaspace"},
                        {"replacement", "\u2581"},
                        {"prepend_scheme", "first"},
                        {"split", false}};
    std::vector<BpeJson> made;
    for (const Json& json :
         {few_bytes(level),
          few_bytes({{"type", "Sequence"}, {"pretokenizers", Json::array({digits, level})}}), pieces(space)})
      made.emplace_back(json.dump(), "tokenizer.json");
    return made;
  }();
  return all;
}

}  // namespace

FUZZ_TARGET(tokenizer_config) {
  FolderTokens::Files files;
  std::string_view rest = bytes;
  std::string config = "{}";
  for (const char* name :
       {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"}) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.empty()) continue;
    if (std::string_view(name) == "config.json")
      config = line;
    else
      files[name] = line;
  }
  const BpeJson& vocabulary = vocabularies()[rest.size() % vocabularies().size()];
  fuzz::taken([&] {
    const FolderTokens folder(files, "folder", parse_json_object(config, "config.json"),
                              vocabulary.added_tokens());
    const TokenizerParts parts = vocabulary.read(folder);
    for (const std::string& line : parts.remarks) TEMPER_CHECK(valid_utf8_prefix(line) == line.size());
    const AddedNames names(parts);
    const TextRange middle{rest.size() / 4, rest.size() / 2};
    for (const bool first : {false, true})
      for (const int32_t id : names.encode(rest, {&middle, 1}, {.first = first, .joined = !first}))
        TEMPER_CHECK(id >= 0 && size_t(id) < parts.texts.size());
  });
}

}  // namespace temper::policy
