// Which chat format is taken. tests/policy/text/chat_formats_test.py compares what they write with transformers.

#include "policy/chat/chat_format.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

// Temper's own pieces with further tokens behind them, and a chat template; empty: none.
Tokenizer tokenizer_with(const std::vector<std::string>& tokens, const std::string& chat_template) {
  static const Tokenizer own = code_tokenizer();
  const TokenizerDir dir;
  own.save(dir.path);
  Json added = Json::object();
  for (const std::string& token : tokens)
    added[std::to_string(own.vocab_size() + std::ssize(added))] = {{"content", token}, {"special", true}};
  Json config = {{"added_tokens_decoder", added}};
  if (!chat_template.empty()) config["chat_template"] = chat_template;
  write_file_atomic(dir.path / "tokenizer_config.json", config.dump());
  return Tokenizer::load(dir.path);
}

std::string text_of(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids) text += tokenizer.token_text(id);
  return text;
}

const std::vector<std::string> kThinkTokens = {"<think>", "</think>"};
const std::vector<std::string> kLlamaTokens = {"<|begin_of_text|>", "<|start_header_id|>",
                                               "<|end_header_id|>", "<|eot_id|>", "<|end_of_text|>"};

TEST(ChatFormats, AreRecognisedByTheirTemplates) {
  struct Case {
    std::vector<std::string> tokens;
    const char* chat_template;
    const char* name;
  };
  const Case cases[] = {
      {{}, "{{ '<|im_start|>' }}", "chatml"},
      {{}, "<|im_start|>system\\nYou are a helpful assistant.", "qwen2"},
      {{}, "<|im_start|> You are Qwen, created by Alibaba Cloud. You are a helpful assistant.", "qwen2.5"},
      {kThinkTokens, "<|im_start|> enable_thinking", "qwen3"},
      {kThinkTokens, "<|im_start|>assistant\\n<think>\\n", "qwq"},
      {kLlamaTokens, "<|start_header_id|>", "llama3"},
      {kLlamaTokens, "<|start_header_id|> Cutting Knowledge Date: December 2023", "llama3.1"},
      {{"<s>", "</s>"}, "[INST] <<SYS>>", "llama2"},
      {{"<s>", "</s>"}, "[INST]", "mistral_v1"},
      {{"<s>", "</s>", "[INST]", "[/INST]"}, "[INST]", "mistral_v3"},
      {kThinkTokens, "", "qwen3"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(ChatFormat(tokenizer_with(c.tokens, c.chat_template)).name(), c.name) << c.chat_template;
  const Tokenizer own = code_tokenizer();
  EXPECT_EQ(ChatFormat(own).name(), "temper");
}

TEST(ChatFormats, WhatIsNotKnownIsNamed) {
  const auto error = [](const Tokenizer& tokenizer, const char* name) -> std::string {
    try {
      ChatFormat(tokenizer, name);
      return "";
    } catch (const ConfigError& e) {
      return e.what();
    }
  };
  EXPECT_NE(error(tokenizer_with({}, "<|User|>"), "auto").find("chat template is not known"),
            std::string::npos);
  EXPECT_NE(error(tokenizer_with({}, ""), "qwen4").find("'qwen4' is not known: must be one of auto, temper"),
            std::string::npos);
  EXPECT_NE(error(tokenizer_with({}, ""), "llama3").find("has no token <|begin_of_text|>"),
            std::string::npos);
  EXPECT_EQ(error(tokenizer_with({}, "<|User|>"), "chatml"), "");
}

TEST(ChatFormats, AnAnswerEndsWithAnyOfItsStopTokens) {
  const Tokenizer own = code_tokenizer();
  EXPECT_EQ(ChatFormat(own).stop_ids(), std::vector<int32_t>{own.special("<|im_end|>")});
  const Tokenizer qwen = tokenizer_with(kThinkTokens, "");
  EXPECT_EQ(ChatFormat(qwen).stop_ids(),
            (std::vector<int32_t>{qwen.special("<|im_end|>"), qwen.special("<|endoftext|>")}));
  const Tokenizer llama = tokenizer_with(kLlamaTokens, "");
  EXPECT_EQ(ChatFormat(llama, "llama3").stop_ids(),
            (std::vector<int32_t>{llama.special("<|eot_id|>"), llama.special("<|end_of_text|>")}));
}

TEST(ChatFormats, SystemMessagesStandWhereTheFamilyPutsThem) {
  const Tokenizer mistral = tokenizer_with({"<s>", "</s>"}, "");
  EXPECT_EQ(text_of(mistral, ChatFormat(mistral, "mistral_v1").first_turn("u", "s")),
            "<s>[INST] s\n\nu [/INST]");
  EXPECT_EQ(text_of(mistral, ChatFormat(mistral, "llama2").first_turn(" u\n", "s")),
            "<s>[INST] <<SYS>>\ns\n<</SYS>>\n\nu [/INST]");
  EXPECT_EQ(text_of(mistral, ChatFormat(mistral, "llama2").user_turn("v")), "<s>[INST] v [/INST]");
  const Tokenizer own = code_tokenizer();
  EXPECT_EQ(text_of(own, ChatFormat(own, "qwen2").first_turn("u")),
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nu<|im_end|>\n"
            "<|im_start|>assistant\n");
}

TEST(ChatFormats, ReasoningIsWrittenAsTheFamilyDoes) {
  const Tokenizer tokenizer = tokenizer_with(kThinkTokens, "");
  const auto answer = [&](const char* name, const char* text) {
    return text_of(tokenizer, ChatFormat(tokenizer, name).answer(text));
  };
  const char* reasoned = "<think>\nwhy\n</think>\n\ncode";
  EXPECT_EQ(answer("qwen3", reasoned), "<think>\nwhy\n</think>\n\ncode<|im_end|>");
  EXPECT_EQ(answer("qwen3", "code"), "code<|im_end|>");
  EXPECT_EQ(answer("qwq", reasoned), "why\n</think>\n\ncode<|im_end|>");
  EXPECT_EQ(answer("qwen3_no_thinking", reasoned), "code<|im_end|>");
  EXPECT_TRUE(ChatFormat(tokenizer, "qwq").opens_reasoning());
  EXPECT_FALSE(ChatFormat(tokenizer, "qwen3").opens_reasoning());
  const auto ids = ChatFormat(tokenizer, "qwen3").answer(reasoned);
  EXPECT_EQ(ids.front(), tokenizer.special("<think>"));
}

}  // namespace
}  // namespace temper::policy
