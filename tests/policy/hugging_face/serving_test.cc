// Which token ends a turn, as other programs read it from an export.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "policy/chat/chat_format.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/hugging_face/json_edit.h"
#include "tests/policy/small_model.h"

namespace temper::policy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

TEST(JsonEdit, ChangesOneValueAndNoOtherByte) {
  const std::string text =
      "{ \"a\" : [1,{\"k\": \"}\\\"\"} ],\n\t\"k\":1000000000000000019884624838656 , \"b\":{}}\r\n";
  EXPECT_EQ(with_json_value(text, "k", "\"x\""),
            "{ \"a\" : [1,{\"k\": \"}\\\"\"} ],\n\t\"k\":\"x\" , \"b\":{}}\r\n");
  EXPECT_EQ(with_json_value(text, "a", "2"),
            "{ \"a\" : 2,\n\t\"k\":1000000000000000019884624838656 , \"b\":{}}\r\n");
  EXPECT_EQ(with_json_value("{\"a\": 1}\n", "b", "2"), "{\"a\": 1,\n  \"b\": 2\n}\n");
  EXPECT_EQ(with_json_value("{\"a\": \"b\"}", "b", "2"), "{\"a\": \"b\",\n  \"b\": 2\n}");
  EXPECT_EQ(with_json_value("{ }", "b", "[2]"), "{\n  \"b\": [2]\n}");
  EXPECT_EQ(json_value_text(text, "a"), "[1,{\"k\": \"}\\\"\"} ]");
  EXPECT_EQ(json_value_text(text, "c"), "");
  EXPECT_EQ(json_value_text("{\"\\u0061\": null}", "a"), "null");
}

// A folder of a small model whose tokenizer is Temper's own, <|endoftext|> and <|im_end|> among its tokens.
class ServedFolder : public testing::Test {
 protected:
  ServedFolder() { export_hugging_face(policy_, tokenizer_, dir_ / "in"); }
  ~ServedFolder() override { fs::remove_all(dir_); }

  static ModelConfig shape() {
    ModelConfig config = small_config();
    config.vocab_size = 400;
    return config;
  }
  json read(const fs::path& file) const { return json::parse(read_file(dir_ / file)); }
  void set(const fs::path& file, const std::string& key, const json& value) const {
    json changed = read(file);
    changed[key] = value;
    write_file(dir_ / file, changed.dump(3));
  }
  // What the folder `in` becomes after it was learned from.
  void learn_and_export() const {
    const Tokenizer tokenizer = Tokenizer::load(dir_ / "in");
    export_hugging_face(import_policy(dir_ / "in", {}), tokenizer, dir_ / "out",
                        {.origin = read_origin(dir_ / "in"), .taught = true});
  }
  void copy() const {
    const Tokenizer tokenizer = Tokenizer::load(dir_ / "in");
    copy_hugging_face(dir_ / "in", tokenizer, dir_ / "out", {.origin = read_origin(dir_ / "in")});
  }
  bool same(const char* file) const {
    return read_file(dir_ / "in" / file) == read_file(dir_ / "out" / file);
  }

  const fs::path dir_ = fs::path(testing::TempDir()) / fmt::format("temper_served_{}", ::getpid());
  const Tokenizer tokenizer_ = Tokenizer::train({"void f(float* x)", "for (int i = 0; i < n; ++i)"}, 380);
  const Policy policy_ = random_policy(shape(), {}, 1);
  const int32_t stop_ = tokenizer_.special("<|im_end|>"), end_ = tokenizer_.special("<|endoftext|>");
};

TEST_F(ServedFolder, AModelThatLearnedEndsItsTurnsWithTheStop) {
  set("in/config.json", "eos_token_id", end_);
  set("in/config.json", "bos_token_id", end_);
  set("in/generation_config.json", "eos_token_id", json::array({end_, 7}));
  set("in/generation_config.json", "temperature", 0.25);
  set("in/tokenizer_config.json", "eos_token", {{"content", "<|endoftext|>"}, {"lstrip", false}});
  set("in/special_tokens_map.json", "eos_token", "<|endoftext|>");
  learn_and_export();
  EXPECT_EQ(read("out/config.json")["eos_token_id"], json::array({stop_, end_}));
  EXPECT_EQ(read("out/config.json")["bos_token_id"], end_);
  json generation = read("in/generation_config.json");
  generation["eos_token_id"] = {stop_, end_, 7};
  EXPECT_EQ(read("out/generation_config.json"), generation);
  json tokenizer = read("in/tokenizer_config.json");
  tokenizer["eos_token"]["content"] = "<|im_end|>";
  EXPECT_EQ(read("out/tokenizer_config.json"), tokenizer);
  EXPECT_EQ(read("out/special_tokens_map.json")["eos_token"], "<|im_end|>");
  EXPECT_TRUE(same("tokenizer.json") && same("tokenizer.model"));
}

TEST_F(ServedFolder, FilesThatNameTheStopStayByteForByte) {
  const std::string text = "{\"temperature\":   0.6, \"eos_token_id\": [" + std::to_string(end_) + ", " +
                           std::to_string(stop_) + "], \"big\": 1000000000000000019884624838656}\n";
  write_file(dir_ / "in/generation_config.json", text);
  learn_and_export();
  for (const char* file : {"generation_config.json", "tokenizer_config.json", "special_tokens_map.json"})
    EXPECT_TRUE(same(file)) << file;
  fs::remove_all(dir_ / "out");
  copy();
  EXPECT_TRUE(same("generation_config.json"));
}

TEST_F(ServedFolder, FoldersThatSayNothingGetTheStop) {
  write_file(dir_ / "in/generation_config.json", "{\"top_p\": 0.5}");
  json config = read("in/config.json");
  config.erase("eos_token_id");
  write_file(dir_ / "in/config.json", config.dump());
  fs::remove(dir_ / "in/special_tokens_map.json");
  json tokenizer = read("in/tokenizer_config.json");
  tokenizer.erase("eos_token");
  write_file(dir_ / "in/tokenizer_config.json", tokenizer.dump());
  learn_and_export();
  EXPECT_EQ(read("out/generation_config.json")["eos_token_id"], stop_);
  EXPECT_EQ(read("out/config.json")["eos_token_id"], stop_);
  EXPECT_EQ(read("out/tokenizer_config.json")["eos_token"], "<|im_end|>");
  EXPECT_FALSE(fs::exists(dir_ / "out/special_tokens_map.json"));
}

// <|endoftext|> ends turns of ChatML too, where it is one of the format's stops; Temper's own format knows no such stop.
TEST_F(ServedFolder, ACopyKeepsWhatEndsTurnsAndMendsWhatDoesNot) {
  set("in/config.json", "eos_token_id", end_);
  set("in/generation_config.json", "eos_token_id", end_);
  set("in/tokenizer_config.json", "chat_template", nullptr);  // ChatML by its tokens
  copy();
  EXPECT_TRUE(same("generation_config.json") && same("tokenizer_config.json"));
  EXPECT_EQ(read("out/config.json")["eos_token_id"], end_);
  fs::remove_all(dir_ / "out");
  set("in/generation_config.json", "eos_token_id", 7);
  copy();
  EXPECT_EQ(read("out/generation_config.json")["eos_token_id"], json::array({stop_, 7}));
  EXPECT_EQ(read("out/tokenizer_config.json")["eos_token"], "<|im_end|>");
}

TEST_F(ServedFolder, ACopyOfAnUnknownFormatIsLeftAsItIs) {
  set("in/tokenizer_config.json", "chat_template", "{{ messages }}");
  set("in/config.json", "eos_token_id", 7);
  set("in/generation_config.json", "eos_token_id", 7);
  copy();
  EXPECT_TRUE(same("generation_config.json") && same("tokenizer_config.json"));
  EXPECT_EQ(read("out/config.json")["eos_token_id"], 7);
}

TEST_F(ServedFolder, RemembersTheDtypeItCameIn) {
  copy_hugging_face(dir_ / "in", tokenizer_, dir_ / "bf16", {.dtype = "bfloat16"});
  const auto learned = [&](const char* from, const char* to, const std::string& dtype = "") {
    const Tokenizer tokenizer = Tokenizer::load(dir_ / from);
    export_hugging_face(import_policy(dir_ / from, {}), tokenizer, dir_ / to,
                        {.dtype = dtype, .origin = read_origin(dir_ / from), .taught = true});
    return read_origin(dir_ / to).dtype;
  };
  EXPECT_EQ(read_origin(dir_ / "bf16").dtype, "bfloat16");
  EXPECT_EQ(learned("bf16", "first"), "bfloat16");
  EXPECT_EQ(stored_dtype(dir_ / "first"), "float32");
  EXPECT_EQ(learned("first", "second"), "bfloat16");
  EXPECT_EQ(read("second/config.json")["temper_export_dtype"], "bfloat16");
  EXPECT_EQ(learned("second", "third", "float32"), "float32");
  EXPECT_FALSE(read("third/config.json").contains("temper_export_dtype"));
}

TEST_F(ServedFolder, TheDtypeIsThatOfTheWeightsWhereNothingIsSaid) {
  copy_hugging_face(dir_ / "in", tokenizer_, dir_ / "half", {.dtype = "float16"});
  json config = read("half/config.json");
  config.erase("torch_dtype");
  write_file(dir_ / "half/config.json", config.dump());
  EXPECT_EQ(read_origin(dir_ / "half").dtype, "float16");
}

}  // namespace
}  // namespace temper::policy
