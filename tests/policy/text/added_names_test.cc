// Names of added tokens in texts, and what files beside a vocabulary say of them. tests/policy/text/tokenizer_forms_test.py
// compares the same with transformers.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "policy/text/pieces/text_splitter.h"
#include "policy/text/tokenizer.h"
#include "tests/policy/text/small_tokenizer_json.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int32_t>;

Tokenizer loaded(const Json& json, const Json& config = Json::object(), const Json& model = Json::object()) {
  const TokenizerDir dir;
  write_file_atomic(dir.path / "tokenizer.json", json.dump());
  write_file_atomic(dir.path / "tokenizer_config.json", config.dump());
  write_file_atomic(dir.path / "config.json", model.dump());
  return Tokenizer::load(dir.path);
}

// With these flags on <|end|> (260) and <think> (261), which is not special.
Json flagged(std::initializer_list<const char*> flags) {
  Json json = small_tokenizer_json();
  for (Json& token : json["added_tokens"])
    for (const char* flag : flags) token[flag] = true;
  return json;
}

TEST(AddedNames, TakeTheWhiteSpaceThatTheirFlagsSay) {
  EXPECT_EQ(loaded(flagged({})).encode_written("x <|end|>\n y"), (Ids{'x', ' ', 260, '\n', ' ', 'y'}));
  EXPECT_EQ(loaded(flagged({"lstrip"})).encode_written("x <|end|>\n y"), (Ids{'x', 260, '\n', ' ', 'y'}));
  EXPECT_EQ(loaded(flagged({"rstrip"})).encode_written("x <|end|>\n\xC2\xA0y"), (Ids{'x', ' ', 260, 'y'}));
  const Tokenizer both = loaded(flagged({"lstrip", "rstrip"}));
  EXPECT_EQ(both.encode_written("x  <think>  <|end|> y"), (Ids{'x', 261, 260, 'y'}));
  EXPECT_EQ(both.encode("x <think> y <|end|>").front(), 'x');
  EXPECT_EQ(both.encode("x <think> y"), (Ids{'x', 261, 'y'}));
}

TEST(AddedNames, OfOneWordAreNoPartOfAnother) {
  const Tokenizer tokenizer = loaded(flagged({"single_word"}));
  EXPECT_EQ(tokenizer.encode_written("-<|end|>."), (Ids{'-', 260, '.'}));
  for (const char* text : {"x<|end|>", "<|end|>_", "\xC3\xA9<|end|>", "<|end|>\xCC\x81"})
    for (const int32_t id : tokenizer.encode_written(text)) EXPECT_NE(id, 260) << text;
}

TEST(AddedNames, AreFoundInNormalisedText) {
  Json json = flagged({"normalized"});
  json["added_tokens"][1]["content"] = "e\xCC\x81";  // in NFC one character
  EXPECT_EQ(loaded(json).encode("x\xC3\xA9"), (Ids{'x', 261}));
  json["added_tokens"][1]["normalized"] = false;
  EXPECT_EQ(loaded(json).encode("x\xC3\xA9"), (Ids{'x', 0xC3, 0xA9}));
  EXPECT_EQ(loaded(json).encode("xe\xCC\x81"), (Ids{'x', 261}));
}

TEST(AddedNames, ContentsNameNoControlToken) {
  Tokenizer tokenizer = loaded(flagged({}));
  const std::string text = "<|end|>a<|end|>b<think><|end|>";
  const TextRange contents[] = {{7, 16}};  // a<|end|>b
  Ids expected = {260, 'a'};
  for (const char c : std::string("<|end|>")) expected.push_back(c);
  expected.insert(expected.end(), {'b', 261, 260});
  EXPECT_EQ(tokenizer.encode_written(text, contents), expected);
  EXPECT_EQ(tokenizer.count_control_names("<|end|><think><|end|> <|end"), 2);
  EXPECT_EQ(tokenizer.encode("<think>"), Ids{261});
  tokenizer.mark_control({261});
  EXPECT_EQ(tokenizer.encode("<think>").size(), 7u);
  EXPECT_EQ(tokenizer.count_control_names("<|end|><think>"), 2);
  EXPECT_EQ(tokenizer.encode_written("<think>"), Ids{261});
  EXPECT_EQ(tokenizer.decode({261}), "<think>");
  tokenizer.mark_ends({261});
  EXPECT_EQ(tokenizer.decode({'a', 261}), "a");
  EXPECT_TRUE(tokenizer.is_special(261));
  EXPECT_EQ(tokenizer.token_text(261), "<think>");
}

// A name that only a content completes is none, and what the program wrote stays what it was.
TEST(AddedNames, ContentsCompleteNoNameAndHideNone) {
  Json json = small_tokenizer_json();
  json["added_tokens"].push_back({{"id", 262}, {"content", "<|end|>>"}, {"special", true}});
  json["added_tokens"].push_back({{"id", 263}, {"content", "x<|e"}, {"special", true}});
  const Tokenizer tokenizer = loaded(json);
  const auto written = [&](const std::string& before, const std::string& content, const std::string& behind) {
    const TextRange range{before.size(), before.size() + content.size()};
    return tokenizer.encode_written(before + content + behind, {&range, 1});
  };
  EXPECT_EQ(written("<|end|>", ">", ""), (Ids{260, '>'}));
  EXPECT_EQ(written("<|end", "|>", ""), (Ids{'<', '|', 'e', 'n', 'd', '|', '>'}));
  EXPECT_EQ(written("", "<|end", "|>"), (Ids{'<', '|', 'e', 'n', 'd', '|', '>'}));
  EXPECT_EQ(written("", "x", "<|end|>"), (Ids{'x', 260}));
  EXPECT_EQ(written("<|end|>", "", "<|end|>"), (Ids{260, 260}));
}

TEST(AddedNames, WhatTheProgramWroteIsATokenWhateverCharacterIsInFront) {
  Json json = flagged({"normalized"});
  for (const char* form : {"NFC", "NFD", "NFKC", "NFKD"}) {
    json["normalizer"] = {{"type", form}};
    const Tokenizer tokenizer = loaded(json);
    for (const std::string content : {"hi \xE2\x80\x94", "e\xCC\x81", "\xE6\x97\xA5\xE6\x9C\xAC",
                                      "\xE2\x80\x8B", "\xC3\xA9", "\xED\x95\x9C"}) {
      const TextRange range{0, content.size()};
      EXPECT_EQ(tokenizer.encode_written(content + "<|end|>", {&range, 1}).back(), 260)
          << form << " " << content;
    }
  }
}

TEST(AddedNames, ContentsAreGuardedInNormalisedTextToo) {
  Json json = flagged({"normalized"});
  json["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers",
       {{{"type", "NFC"}}, {{"type", "Replace"}, {"pattern", {{"String", "q"}}}, {"content", "rrr"}}}}};
  const Tokenizer tokenizer = loaded(json);
  const std::string front = "qe\xCC\x81<|end|>", content = "q<|end|>";
  const TextRange range{front.size(), front.size() + content.size()};
  const Ids ids = tokenizer.encode_written(front + content + "<|end|>", {&range, 1});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 260), 2);
  EXPECT_EQ(tokenizer.count_control_names(content), 1);
}

TEST(FolderTokens, FlagsOfTheConfigGoFirst) {
  const Json listed = {
      {"260", {{"content", "<|end|>"}, {"special", true}, {"rstrip", true}, {"normalized", false}}}};
  const Json config = {{"added_tokens_decoder", listed}, {"eos_token", "<|end|>"}};
  EXPECT_EQ(loaded(flagged({}), config).encode_written("<|end|>\n"), Ids{260});
  // Qwen2's class adds its named tokens by their names alone, which does not count against the file.
  EXPECT_EQ(loaded(flagged({"rstrip"}), {{"eos_token", "<|end|>"}}, {{"model_type", "qwen2"}})
                .encode_written("<|end|>\n"),
            Ids{260});
}

TEST(FolderTokens, ATokenNamedByTheConfigIsSpecial) {
  const Tokenizer tokenizer = loaded(small_tokenizer_json(), {{"eos_token", "<think>"}});
  EXPECT_TRUE(tokenizer.is_special(261));
  EXPECT_FALSE(loaded(small_tokenizer_json()).is_special(261));
  // A name that is no token gets no id: the model has no row for it.
  EXPECT_EQ(loaded(small_tokenizer_json(), {{"pad_token", "<pad>"}}).vocab_size(), 262);
}

TEST(FolderTokens, AClassThatIsNotKnownIsNamed) {
  try {
    loaded(small_tokenizer_json(), {{"tokenizer_class", "T5TokenizerFast"}});
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("tokenizer_class 'T5Tokenizer' is not known"), std::string::npos)
        << e.what();
  }
}

// Steps in front of bytes.
Json bytes_behind(const Json& step, bool use_regex) {
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", use_regex}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({step, bytes})}};
}

// What Digits does before GPT-2's pattern.
Json by_digits() {
  Json json = small_tokenizer_json();
  json["normalizer"] = nullptr;
  json["model"]["vocab"]["12"] = 260;
  json["model"]["merges"].push_back("1 2");
  json["pre_tokenizer"] = bytes_behind({{"type", "Digits"}, {"individual_digits", true}}, true);
  return json;
}

TEST(FileOrClass, TheFileCountsWhereAClassLeavesOutWhatItSays) {
  const Tokenizer none = loaded(by_digits(), {{"tokenizer_class", "PreTrainedTokenizerFast"}});
  EXPECT_EQ(none.encode("12"), (Ids{'1', '2'}));
  EXPECT_TRUE(none.remarks().empty());
  const Json llama = {{"model_type", "llama"}};
  for (const char* name : {"GPT2Tokenizer", "Qwen2TokenizerFast", "LlamaTokenizer"}) {
    const Tokenizer tokenizer = loaded(by_digits(), {{"tokenizer_class", name}}, llama);
    EXPECT_EQ(tokenizer.encode("12"), (Ids{'1', '2'})) << name;
    ASSERT_EQ(tokenizer.remarks().size(), 1u) << name;
    const std::string& line = tokenizer.remarks()[0];
    for (const char* part : {"tokenizer.json", "transformers 5", "Tokenizer for this folder"})
      EXPECT_NE(line.find(part), std::string::npos) << line;
  }
}

TEST(FileOrClass, NothingIsSaidWhereBothAreTheSame) {
  Json json = small_tokenizer_json();
  json["normalizer"] = nullptr;
  EXPECT_TRUE(loaded(json, {{"tokenizer_class", "GPT2Tokenizer"}}).remarks().empty());
  json["normalizer"] = {{"type", "NFC"}};
  EXPECT_NE(loaded(json, {{"tokenizer_class", "GPT2Tokenizer"}}).remarks().at(0).find("its normalizer,"),
            std::string::npos);
  const Json pattern = {{"Regex", TextSplitter::qwen2_pattern()}};
  json["pre_tokenizer"] = bytes_behind(
      {{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}, {"invert", false}}, false);
  const Json qwen = {{"model_type", "qwen2"}};
  EXPECT_TRUE(loaded(json, {{"tokenizer_class", "Qwen2Tokenizer"}}, qwen).remarks().empty());
  json["added_tokens"][0]["rstrip"] = true;
  const auto remarks = loaded(json, {{"eos_token", "<|end|>"}}, qwen).remarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("its added_tokens"), std::string::npos) << remarks[0];
}

TEST(FileOrClass, ATokenForTheUnknownNeedsNoPieceWhereNothingIsUnknown) {
  Json json = small_tokenizer_json();
  json["model"]["unk_token"] = "";  // as GPT-2's file has it
  EXPECT_EQ(loaded(json).encode("x"), Ids{'x'});
  json["model"]["vocab"].erase("z");
  json["model"]["vocab"]["zz"] = int('z');
  EXPECT_THROW(loaded(json), ConfigError);
}

TEST(Tokenizer, APointerOfGitLfsIsToldAsSuch) {
  const TokenizerDir dir;
  for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
    write_file_atomic(dir.path / name, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
    try {
      Tokenizer::load(dir.path);
      FAIL();
    } catch (const ConfigError& e) {
      EXPECT_NE(std::string(e.what()).find(std::string(name) + ": is a pointer of Git LFS"),
                std::string::npos)
          << e.what();
    }
    std::filesystem::remove(dir.path / name);
  }
}

TEST(Tokenizer, BytesWithoutATokenAreLostAndCounted) {
  Json json = small_tokenizer_json();
  json["model"]["vocab"].erase(spelled('z'));
  json["model"]["vocab"][spelled(0xFF) + spelled(0xFF)] = int('z');
  const Tokenizer tokenizer = loaded(json);
  EXPECT_EQ(tokenizer.encode("xzy"), (Ids{'x', 'y'}));
  EXPECT_EQ(tokenizer.encode("azb"), Ids{257});  // as if it had never been there
  EXPECT_EQ(tokenizer.lost_bytes(), 2);
  json["model"]["unk_token"] = spelled('?');
  EXPECT_EQ(loaded(json).encode("azz"), (Ids{'a', '?', '?'}));
  json["model"]["fuse_unk"] = true;
  EXPECT_EQ(loaded(json).encode("azz"), (Ids{'a', '?'}));
}

// Pieces of characters: "▁", the bytes, "a", "b", "ab" and "▁a".
Json pieces_json(const Json& pre_tokenizer) {
  Json vocab = {{"<unk>", 0}, {"<s>", 1}};
  for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = 2 + byte;
  int id = 258;
  for (const char* piece : {"\u2581", "a", "b", "ab", "\u2581a"}) vocab[piece] = id++;
  const auto step = [](const char* type) { return Json{{"type", type}}; };
  Json replace = step("Replace");
  replace["pattern"] = {{"String", "\u2581"}}, replace["content"] = " ";
  return {{"added_tokens", {{{"id", 1}, {"content", "<s>"}, {"special", true}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", pre_tokenizer},
          {"decoder", {{"type", "Sequence"}, {"decoders", {replace, step("ByteFallback"), step("Fuse")}}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"byte_fallback", true},
            {"vocab", vocab},
            {"merges", {"a b", "\u2581 a"}}}}};
}

TEST(Pieces, OfCharactersFallBackToBytes) {
  const Tokenizer tokenizer = loaded(pieces_json(
      {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "first"}, {"split", false}}));
  EXPECT_EQ(tokenizer.encode("ab a"), (Ids{261, 262}));
  EXPECT_EQ(tokenizer.encode("c\xC3\xA9"), (Ids{2 + 'c', 2 + 0xC3, 2 + 0xA9}));
  EXPECT_EQ(tokenizer.encode_written("a<s>a a"), (Ids{262, 1, 259, 262}));
  EXPECT_EQ(tokenizer.encode_written(" a"), Ids{262});
  for (const std::string& text : {std::string("a\xFF b"), std::string("\n\0c", 3), std::string(" ab  a")})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

TEST(Pieces, ASpaceComesBeforeATextAsTheClassHasIt) {
  const Json json = pieces_json(nullptr), llama = {{"model_type", "llama"}};
  const auto ids = [&](Json config) {
    config["tokenizer_class"] = "LlamaTokenizer";
    return loaded(json, config, llama).encode_written("a<s>a");
  };
  EXPECT_EQ(ids(Json::object()), (Ids{262, 1, 259}));
  EXPECT_EQ(ids({{"legacy", false}}), (Ids{262, 1, 259}));
  EXPECT_EQ(ids({{"legacy", true}}), (Ids{262, 1, 262}));
  EXPECT_EQ(ids({{"add_prefix_space", false}}), (Ids{259, 1, 259}));
  EXPECT_EQ(loaded(json, {{"tokenizer_class", "LlamaTokenizer"}}, {{"model_type", "mistral"}})
                .encode_written("a<s>a"),
            (Ids{259, 1, 259}));
}

TEST(FileOrClass, OfCharactersTheClassPlacesSpacesAloneAndNothingElse) {
  const auto metaspace = [](const char* scheme, bool split) {
    return Json{
        {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}, {"split", split}};
  };
  const auto of = [](const Json& json, Json config) {
    config["tokenizer_class"] = "LlamaTokenizer";
    config["unk_token"] = "<unk>";
    return loaded(json, config, {{"model_type", "llama"}});
  };
  EXPECT_TRUE(of(pieces_json(metaspace("first", false)), {{"legacy", false}}).remarks().empty());
  const Tokenizer always = of(pieces_json(metaspace("first", false)), {{"legacy", true}});
  EXPECT_EQ(always.encode_written("a<s>a"), (Ids{262, 1, 262}));
  ASSERT_EQ(always.remarks().size(), 1u);
  EXPECT_NE(always.remarks()[0].find("ids are those of the class LlamaTokenizer"), std::string::npos);
  const Tokenizer split = of(pieces_json(metaspace("first", true)), {{"legacy", true}});
  EXPECT_EQ(split.encode_written("a<s>a"), (Ids{262, 1, 259}));
  ASSERT_EQ(split.remarks().size(), 1u);
  EXPECT_NE(split.remarks()[0].find("ids are those of tokenizer.json"), std::string::npos);
}

}  // namespace
}  // namespace temper::policy
