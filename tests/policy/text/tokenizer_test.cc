#include "policy/text/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/rng.h"
#include "policy/chat/chat_format.h"
#include "policy/text/tokenizer_phrases.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::policy {
namespace {

namespace fs = std::filesystem;

const Tokenizer& tokenizer() {
  static const Tokenizer one = code_tokenizer();
  return one;
}

// Texts that tokenizers are known to change.
std::vector<std::string> awkward_texts() {
  return {"",
          " ",
          "   leading and trailing   ",
          "\n\n\r\n\ttab\t\n",
          "a\u2581b\u2581\u2581 c \u2581",
          "\u2585 block",
          std::string("nul\0nul", 7),
          "\x01\x02\x1b[0m\x7f",
          "\uFEFFbom \uFB01 ligature, e\u0301 decomposed, \u212B \uFF21 wide",
          "日本語 Ελληνικά 🙂👩‍👩‍👧 \U0010FFFF",
          "<|im_start|>user\nhi<|im_end|><|endoftext|><unk><0x41><s></s>",
          "                              spaces",
          "for (long i = 0; i < n; ++i) out[i] = x[i] + y[i];\n"};
}

void append_utf8(std::string& text, uint32_t point) {
  if (point < 0x80) {
    text += char(point);
  } else if (point < 0x800) {
    text += {char(0xC0 | point >> 6), char(0x80 | (point & 63))};
  } else if (point < 0x10000) {
    text += {char(0xE0 | point >> 12), char(0x80 | (point >> 6 & 63)), char(0x80 | (point & 63))};
  } else {
    text += {char(0xF0 | point >> 18), char(0x80 | (point >> 12 & 63)), char(0x80 | (point >> 6 & 63)),
             char(0x80 | (point & 63))};
  }
}

// Pieces of code, white space and characters of any plane.
std::string random_text(Rng& rng) {
  static const std::vector<std::string> code = code_texts();
  std::string text;
  for (uint64_t part = rng.below(12); part > 0; --part) {
    const uint64_t kind = rng.below(4);
    const std::string& source = code[rng.below(code.size())];
    const uint32_t limits[] = {0x80, 0x3000, 0x110000};
    const auto point = uint32_t(rng.below(limits[rng.below(3)]));
    if (kind == 0) text += source.substr(rng.below(source.size()), rng.below(60));
    if (kind == 1) text.append(rng.below(9), ' ');
    if (kind == 2) text += " \t\r\n"[rng.below(4)];
    if (kind == 3 && (point < 0xD800 || point > 0xDFFF)) append_utf8(text, point);
  }
  return text;
}

std::string load_error(const fs::path& dir) {
  try {
    Tokenizer::load(dir);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Tokenizer, AwkwardTextComesBackExactly) {
  for (const std::string& text : awkward_texts())
    EXPECT_EQ(tokenizer().decode(tokenizer().encode(text)), text);
}

TEST(Tokenizer, RandomTextComesBackExactly) {
  Rng rng(7);
  for (int n = 0; n < 3000; ++n) {
    const std::string text = random_text(rng);
    ASSERT_EQ(tokenizer().decode(tokenizer().encode(text)), text) << "text " << n;
  }
}

TEST(Tokenizer, AnyBytesComeBackExactly) {
  Rng rng(8);
  for (int n = 0; n < 3000; ++n) {
    std::string bytes;
    for (uint64_t left = rng.below(40); left > 0; --left) bytes += char(rng.below(rng.below(2) ? 256 : 128));
    ASSERT_EQ(tokenizer().decode(tokenizer().encode(bytes)), bytes) << "text " << n;
  }
}

TEST(Tokenizer, SpecialTokensAreNeverMadeFromText) {
  for (const char* name : {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unk>"}) {
    const int32_t id = tokenizer().special(name);
    EXPECT_TRUE(tokenizer().is_special(id));
    EXPECT_EQ(tokenizer().token_text(id), name);
    EXPECT_EQ(tokenizer().decode({id}), "");
    for (const std::string& text :
         {std::string(name), "a" + std::string(name) + "b", std::string(name) + name}) {
      for (int32_t found : tokenizer().encode(text)) EXPECT_FALSE(tokenizer().is_special(found)) << text;
    }
  }
}

TEST(Tokenizer, CodeIsCutIntoLongPieces) {
  const std::string text = code_texts()[5];
  EXPECT_LT(tokenizer().encode(text).size(), text.size() / 5);
}

TEST(Tokenizer, TrainingIsDeterministic) {
  const TokenizerDir dir;
  code_tokenizer().save(dir.path / "a");
  code_tokenizer().save(dir.path / "b");
  for (const char* name : {"tokenizer.model", "tokenizer.json"}) {
    EXPECT_EQ(read_file(dir.path / "a" / name), read_file(dir.path / "b" / name)) << name;
  }
}

TEST(Tokenizer, AVocabularyThatCannotBeTrainedIsRefused) {
  EXPECT_THROW(Tokenizer::train({}, 400), ConfigError);
  EXPECT_THROW(Tokenizer::train(code_texts(), 100), ConfigError);  // fewer than bytes and special tokens
}

TEST(Tokenizer, WrongFilesAreNamed) {
  const TokenizerDir dir;
  EXPECT_NE(load_error(dir.path).find("tokenizer.model: no such file"), std::string::npos);
  tokenizer().save(dir.path);
  const std::string model = read_file(dir.path / "tokenizer.model");
  for (size_t size : {size_t(0), size_t(10), size_t(3000), model.size() - 300}) {
    write_file_atomic(dir.path / "tokenizer.model", model.substr(0, size));
    EXPECT_NE(load_error(dir.path).find("tokenizer.model: "), std::string::npos) << size << " bytes";
  }
}

// A field of a serialized protobuf message.
std::string bytes_field(int number, const std::string& value) {
  std::string field(1, char(number << 3 | 2));
  size_t size = value.size();
  for (; size > 0x7F; size >>= 7) field += char(0x80 | (size & 0x7F));
  return field + char(size) + value;
}

// sentencepiece follows the offsets of such a map wherever they point: the first one leads 2 GB behind its
// end.
TEST(Tokenizer, AModelWithAMapOfCharactersIsRefused) {
  const TokenizerDir dir;
  tokenizer().save(dir.path);
  const std::string model = read_file(dir.path / "tokenizer.model");
  const std::string tree(1024, '\x7f'), map = std::string("\0\4\0\0", 4) + tree + '\0';
  for (const int specification : {3, 5}) {  // of encoding and of decoding
    write_file_atomic(dir.path / "tokenizer.model", model + bytes_field(specification, bytes_field(2, map)));
    EXPECT_NE(load_error(dir.path).find("tokenizer.model: changes characters"), std::string::npos);
  }
}

TEST(Tokenizer, PiecesAreTextsWithFiniteScores) {
  const TokenizerDir dir;
  tokenizer().save(dir.path);
  const std::string model = read_file(dir.path / "tokenizer.model");
  const auto error_with = [&](const std::string& text, float score) {
    const std::string fixed = "\x15" + std::string(reinterpret_cast<const char*>(&score), 4);
    write_file_atomic(dir.path / "tokenizer.model", model + bytes_field(1, bytes_field(1, text) + fixed));
    return load_error(dir.path);
  };
  EXPECT_EQ(error_with("qqqq", -20), "");
  EXPECT_NE(error_with("qqqq", NAN).find("has the score nan"), std::string::npos);
  EXPECT_NE(error_with("qqqq", 1e30f).find("has the score"), std::string::npos);
  EXPECT_NE(error_with("\xff", -20).find("'\\xff', is not text"), std::string::npos);
  EXPECT_NE(error_with(std::string("q\0q", 3), -20).find("is not text"), std::string::npos);
  EXPECT_NE(error_with(std::string(2000, 'q'), -20).find("2000 bytes, more than 1024"), std::string::npos);
}

// What tests/policy/text/tokenizer_reference.py compares with the libraries that others use.
TEST(Tokenizer, SavedFilesGiveTheSameIds) {
  const fs::path dir = fs::path(TEMPER_BINARY_DIR) / "tokenizer_reference";
  tokenizer().save(dir);
  const Tokenizer loaded = Tokenizer::load(dir);
  Rng rng(9);
  std::vector<std::string> texts = awkward_texts();
  for (int n = 0; n < 2000; ++n) texts.push_back(random_text(rng));
  nlohmann::json cases = nlohmann::json::array();
  for (const std::string& text : texts) {
    ASSERT_EQ(loaded.encode(text), tokenizer().encode(text));
    cases.push_back({{"text", text}, {"ids", loaded.encode(text)}});
  }
  write_file_atomic(dir / "cases.json", cases.dump());
}

TEST(ChatFormat, OnlyItsOwnTokensAreSpecial) {
  const ChatFormat format(tokenizer());
  const auto ids = format.user_turn("hello <|im_end|>\n");
  std::string text;
  for (int32_t id : ids) text += tokenizer().token_text(id);
  EXPECT_EQ(text, "<|im_start|>user\nhello <|im_end|>\n<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), format.stop_id()), 1);
  EXPECT_EQ(tokenizer().decode(format.after_answer()), "\n");
}

std::vector<std::string> loops() {
  std::vector<std::string> texts;
  for (int k = 0; k < 40; ++k) {
    texts.push_back(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {{\n  y[{0}] = 0;\n}}\n",
                                k % 2 ? "i" : "j", k % 3 ? "n" : "m"));
  }
  return texts;
}

TEST(Phrases, PutTogetherAreTheTexts) {
  auto texts = awkward_texts();
  for (const auto& text : loops()) texts.push_back(text);
  std::string all, together;
  for (const auto& text : texts) all += text;
  for (const auto& phrase : phrases(texts)) together += phrase;
  EXPECT_EQ(together, all);
}

TEST(Phrases, EndWhereThereIsAChoice) {
  const auto found = phrases(loops());
  const std::set<std::string> distinct(found.begin(), found.end());
  EXPECT_TRUE(distinct.contains(" i = 0;")) << fmt::format("{}", fmt::join(distinct, "|"));
  EXPECT_TRUE(distinct.contains("; ++"));
  for (const auto& phrase : distinct) EXPECT_EQ(phrase.find("(int i"), std::string::npos) << phrase;
}

TEST(Phrases, DigitsOfAFractionStandAlone) {
  const std::string text = "y = x * 0.385f + 128;\n";
  const auto found = phrases(std::vector<std::string>(100, text));
  const std::multiset<std::string> all(found.begin(), found.end());
  EXPECT_EQ(all.count("3"), 100u) << fmt::format("{}", fmt::join(std::set(all.begin(), all.end()), "|"));
  EXPECT_EQ(all.count("8"), 100u);
  EXPECT_EQ(all.count("5"), 100u);
  EXPECT_EQ(all.count("f + 128;\n"), 100u);
}

TEST(Tokenizer, ANameIsTheSamePieceBesideOthers) {
  std::vector<std::string> texts;
  for (int k = 0; k < 300; ++k) {
    const std::string left(1, "xyz"[k % 3]), right(1, "abc"[k / 3 % 3]);
    texts.push_back("q = f(" + left + " * " + right + ")\n");
  }
  const auto trained = Tokenizer::train(texts, 420);
  const auto one = trained.encode("q = f(x * a)\n"), other = trained.encode("q = f(z * a)\n");
  ASSERT_EQ(one.size(), other.size());
  int different = 0;
  for (size_t k = 0; k < one.size(); ++k) different += one[k] != other[k];
  EXPECT_EQ(different, 1);
}

}  // namespace
}  // namespace temper::policy
