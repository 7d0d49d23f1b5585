// Byte-level tokenizers. tests/policy/text/tokenizers_test.py compares published ones with `tokenizers`.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "policy/text/tokenizer.h"
#include "tests/policy/text/small_tokenizer_json.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

struct Folder {
  TokenizerDir dir;
  explicit Folder(const Json& description) {
    write_file_atomic(dir.path / "tokenizer.json", description.dump());
  }
  Tokenizer load() const { return Tokenizer::load(dir.path); }
  std::string error() const {
    try {
      load();
      return "";
    } catch (const ConfigError& e) {
      return e.what();
    }
  }
};

TEST(ByteLevel, MergesInTheirOrder) {
  const Tokenizer tokenizer = Folder(small_tokenizer_json()).load();
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(tokenizer.encode("ab"), Ids{257});
  EXPECT_EQ(tokenizer.encode("abc"), Ids{258});  // b c, then a bc
  EXPECT_EQ(tokenizer.encode("abab"), (Ids{257, 257}));
  EXPECT_EQ(tokenizer.encode("x a"), (Ids{'x', 259}));  // a word takes its space along
  EXPECT_EQ(tokenizer.encode("xa"), (Ids{'x', 'a'}));
  EXPECT_EQ(tokenizer.vocab_size(), 262);
}

TEST(ByteLevel, TextIsComposedAndBytesSurvive) {
  const Tokenizer tokenizer = Folder(small_tokenizer_json()).load();
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("e\xCC\x81")), "\xC3\xA9");
  for (const std::string& bytes :
       {std::string("\xff\xfe ab \x80"), std::string("\xe2\x82"), std::string("a\0b", 3)})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes);
}

TEST(ByteLevel, TextNamesNoSpecialToken) {
  const Tokenizer tokenizer = Folder(small_tokenizer_json()).load();
  for (const int32_t id : tokenizer.encode("a<|end|>")) EXPECT_LT(id, 260);
  EXPECT_EQ(tokenizer.encode("a<think>b"), (std::vector<int32_t>{'a', 261, 'b'}));
  EXPECT_EQ(tokenizer.encode_written("a<|end|>b"), (std::vector<int32_t>{'a', 260, 'b'}));
  EXPECT_EQ(tokenizer.special("<|end|>"), 260);
  EXPECT_EQ(tokenizer.find_special("<think>"), 261);
  EXPECT_TRUE(tokenizer.is_special(260));
  EXPECT_EQ(tokenizer.decode({260, 261}), "<think>");
}

TEST(ByteLevel, LongWordsAreMergedLikeShortOnes) {
  const Tokenizer tokenizer = Folder(small_tokenizer_json()).load();
  std::string word;
  for (int n = 0; n < 500; ++n) word += n % 3 ? "ab" : "abc";
  std::vector<int32_t> expected;
  for (int n = 0; n < 500; ++n) expected.push_back(n % 3 ? 257 : 258);
  EXPECT_EQ(tokenizer.encode(word), expected);
}

TEST(ByteLevel, WhatIsNotKnownIsNamed) {
  const std::pair<const char*, std::pair<Json, const char*>> cases[] = {
      {"/normalizer", {{{"type", "Lowercase"}}, "normalizer"}},
      {"/pre_tokenizer",
       {{{"type", "Sequence"}, {"pretokenizers", {{{"type", "BertPreTokenizer"}}, {{"type", "ByteLevel"}}}}},
        "pre_tokenizer"}},
      {"/pre_tokenizer/add_prefix_space", {"yes", "add_prefix_space"}},
      {"/pre_tokenizer",
       {{{"type", "Sequence"},
         {"pretokenizers",
          {{{"type", "Split"}, {"pattern", {{"Regex", "(a+)+$"}}}, {"behavior", "Isolated"}},
           {{"type", "ByteLevel"}, {"use_regex", false}}}}},
        "pattern (a+)+$ is not known"}},
      {"/model/type", {"WordPiece", "model.type"}},
      {"/model/byte_fallback", {"yes", "model.byte_fallback"}},
      {"/model/dropout", {0.1, "model.dropout"}},
      {"/model/merges/0", {"b q", "model.merges: entry 0"}},
      {"/model/vocab/a", {-1, "model.vocab: id -1 of 'a'"}},
      {"/model/vocab/a", {'b', "has two pieces"}},
      {"/added_tokens/0/id", {-1, "added_tokens"}},
      {"/added_tokens/0/lstrip", {"yes", "'<|end|>': lstrip"}},
      {"/decoder", {nullptr, "decoder"}},
  };
  for (const auto& [where, change] : cases) {
    Json description = small_tokenizer_json();
    description[Json::json_pointer(where)] = change.first;
    const std::string error = Folder(description).error();
    EXPECT_NE(error.find(change.second), std::string::npos)
        << where << " = " << change.first << ": " << error;
    EXPECT_NE(error.find("tokenizer.json"), std::string::npos) << error;
  }
}

// A file that was damaged is read or refused; it never ends the process.
TEST(ByteLevel, DamagedFilesAreReadOrRefused) {
  const std::string whole = small_tokenizer_json().dump();
  Rng rng(3);
  const TokenizerDir dir;
  int refused = 0;
  for (int n = 0; n < 600; ++n) {
    std::string damaged = whole;
    for (uint64_t k = 0; k < 1 + rng.below(4); ++k) {
      const size_t at = rng.below(damaged.size());
      switch (rng.below(3)) {
        case 0:
          damaged[at] = "0123456789-[]{}\",:aetrufln"[rng.below(25)];
          break;
        case 1:
          damaged.erase(at, 1 + rng.below(8));
          break;
        default:
          damaged.insert(at, damaged.substr(rng.below(damaged.size()), rng.below(12)));
      }
    }
    write_file_atomic(dir.path / "tokenizer.json", damaged);
    try {
      const Tokenizer tokenizer = Tokenizer::load(dir.path);
      tokenizer.decode(tokenizer.encode("abc \xC3\xA9 <|end|>"));
    } catch (const ConfigError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace temper::policy
