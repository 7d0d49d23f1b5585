// Which chat format is taken. tests/policy/text/chat_formats_test.py compares what they write with transformers.

#include "policy/chat/chat_format.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "policy/chat/choice.h"
#include "policy/chat/known_layouts.h"
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

TEST(ChatFormats, AreRecognisedByTheirTokens) {
  struct Case {
    std::vector<std::string> tokens;
    const char* name;
  };
  const Case cases[] = {
      {{}, "chatml"},
      {kThinkTokens, "qwen3"},
      {{"<s>", "</s>", "[INST]", "[/INST]"}, "chatml"}};  // Temper's own <|im_start|> goes first
  for (const Case& c : cases) EXPECT_EQ(ChatFormat(tokenizer_with(c.tokens, "")).name(), c.name);
  Tokenizer own = code_tokenizer();
  EXPECT_TRUE(choose_chat(own, {}).empty());
  EXPECT_EQ(ChatFormat(own).name(), "temper");
}

TEST(ChatFormats, WhatIsNotKnownIsNamed) {
  const auto error = [](Tokenizer tokenizer, const char* name) -> std::string {
    try {
      choose_chat(tokenizer, {.format = name});
      return "";
    } catch (const ConfigError& e) {
      return e.what();
    }
  };
  EXPECT_NE(error(tokenizer_with({}, "<|User|>"), "auto").find("it cannot be run"), std::string::npos);
  EXPECT_NE(error(tokenizer_with({}, "<|User|>"), "auto").find("model.chat_format=temper|chatml|"),
            std::string::npos);
  EXPECT_NE(error(tokenizer_with({}, ""), "qwen4").find("'qwen4' is not known: must be one of auto, temper"),
            std::string::npos);
  EXPECT_NE(error(tokenizer_with({}, ""), "llama3").find("has no token <|begin_of_text|>"),
            std::string::npos);
  EXPECT_EQ(error(tokenizer_with({}, "<|User|>"), "chatml"), "");
}

// They are refused where they would be followed, and do no harm where a format is named in their place.
TEST(ChatFormats, TemplatesThatAreNoTextAreNamed) {
  struct Case {
    std::string text;
    const char* why;
  };
  const Json unnamed = Json::array({{{"name", "tool_use"}, {"template", "x"}}});
  const Case cases[] = {
      {" \n", "it is empty"},
      {std::string((1 << 20) + 1, 'x'), "it has 1048577 bytes, and at most 1048576 are read"},
      {"x\xc3", "it is not UTF-8: byte 2"},
      {"", "lists templates by name, and none is called default"}};
  for (const Case& c : cases) {
    const TokenizerDir dir;
    tokenizer_with({}, "").save(dir.path);
    if (c.text.empty())
      write_file_atomic(dir.path / "tokenizer_config.json", Json{{"chat_template", unnamed}}.dump());
    else
      write_file_atomic(dir.path / "chat_template.jinja", c.text);
    Tokenizer tokenizer = Tokenizer::load(dir.path);
    EXPECT_TRUE(choose_chat(tokenizer, {.format = "chatml"}).empty());
    try {
      choose_chat(tokenizer, {});
      FAIL() << c.why;
    } catch (const ConfigError& e) {
      EXPECT_NE(std::string(e.what()).find(c.why), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("model.chat_format=temper|chatml|"), std::string::npos)
          << e.what();
    }
  }
}

// What transformers takes of a folder's files; "none", or why it cannot be followed.
std::string found_text(const std::map<std::string, std::string>& files) {
  const auto found = find_chat_template(files);
  return !found ? "none" : found->unusable + found->text;
}

TEST(ChatFormats, TheTemplateIsTheOneThatTransformersTakes) {
  const auto text = [](const Json& value) {
    return found_text({{"tokenizer_config.json", Json{{"chat_template", value}}.dump()}});
  };
  const Json first = {{"name", "default"}, {"template", "a"}},
             last = {{"name", "default"}, {"template", "b"}};
  EXPECT_EQ(text("a"), "a");
  EXPECT_EQ(text(nullptr), "none");
  EXPECT_EQ(text(Json{{"default", "a"}, {"tool_use", "b"}}), "a");
  EXPECT_EQ(text(Json::array({first, last})), "b");
  EXPECT_NE(text(5).find("chat_template is 5: must be a text"), std::string::npos) << text(5);
  EXPECT_NE(text(false).find("chat_template is false: must be a text"), std::string::npos);
  EXPECT_NE(text(Json::array()).find("it lists no template"), std::string::npos);
  EXPECT_NE(text(Json::object()).find("it lists no template"), std::string::npos);
  EXPECT_NE(text(Json{{"default", 5}}).find("default is 5"), std::string::npos);
  EXPECT_NE(text(Json{{"rag", "a"}, {"tool_use", "b"}}).find("none is called default: rag, tool_use"),
            std::string::npos);
}

TEST(ChatFormats, TemplatesInAFolderOfTheirOwnAreFound) {
  const auto found = [](const std::map<std::string, std::string>& files) {
    const TokenizerDir dir;
    tokenizer_with({}, "config").save(dir.path);
    std::filesystem::create_directory(dir.path / "additional_chat_templates");
    for (const auto& [name, content] : files) write_file_atomic(dir.path / name, content);
    return found_text(Tokenizer::load(dir.path).files());
  };
  const std::string own = "chat_template.jinja", of_default = "additional_chat_templates/default.jinja",
                    of_tools = "additional_chat_templates/tool_use.jinja";
  EXPECT_EQ(found({}), "config");
  EXPECT_EQ(found({{own, "own"}, {of_tools, "tools"}}), "own");
  EXPECT_EQ(found({{own, "own"}, {of_default, "default"}}), "default");
  EXPECT_EQ(found({{of_default, "default"}, {of_tools, "tools"}}), "default");
  EXPECT_NE(found({{of_tools, "tools"}}).find("none is called default: tool_use"), std::string::npos);
}

TEST(ChatFormats, NamesOfTokensAreThoseThatTransformersGivesATemplate) {
  using Names = std::map<std::string, std::string>;
  const auto names = [](Json config, const Json& map) {
    config["chat_template"] = "x";
    return find_chat_template(
               {{"tokenizer_config.json", config.dump()}, {"special_tokens_map.json", map.dump()}})
        ->tokens;
  };
  const Json config = {{"bos_token", "<a>"}, {"eos_token", "<b>"}},
             map = {{"bos_token", "<c>"}, {"eos_token", nullptr}, {"pad_token", {{"content", "<d>"}}}};
  EXPECT_EQ(names(config, map), (Names{{"bos_token", "<c>"}, {"pad_token", "<d>"}}));
  Json decoded = config;
  decoded["added_tokens_decoder"] = Json::object();
  EXPECT_EQ(names(decoded, map), (Names{{"bos_token", "<a>"}, {"eos_token", "<b>"}}));
  EXPECT_EQ(names({{"extra_special_tokens", {{"image_token", "<a>"}, {"image", "<b>"}}},
                   {"image_token", "<c>"},
                   {"audio_token", "<d>"},
                   {"add_bos_token", true}},
                  Json::object()),
            (Names{{"image_token", "<a>"}, {"image", "<b>"}, {"audio_token", "<d>"}}));
  EXPECT_EQ(names({{"extra_special_tokens", {{"image_token", "<a>"}}}},
                  {{"extra_special_tokens", Json::array({"<b>"})}}),
            (Names{{"image_token", "<a>"}}));
  EXPECT_EQ(names({{"tokenizer_class", "GPT2Tokenizer"}, {"bos_token", nullptr}}, Json::object()),
            (Names{{"eos_token", "<|endoftext|>"}, {"unk_token", "<|endoftext|>"}}));
}

// The tokenizer's own end is that of the file which counts.
TEST(ChatFormats, TheMapOfSpecialTokensNamesTheEnd) {
  const Tokenizer own = code_tokenizer();
  const TokenizerDir dir;
  own.save(dir.path);
  write_file_atomic(dir.path / "tokenizer_config.json", R"({"eos_token": "<|im_end|>"})");
  write_file_atomic(dir.path / "special_tokens_map.json", R"({"eos_token": "<|endoftext|>"})");
  EXPECT_EQ(Tokenizer::load(dir.path).ends(), std::vector<int32_t>{own.special("<|endoftext|>")});
}

TEST(ChatFormats, ArgumentsThatNoTemplateGetsAreNamed) {
  for (const char* name : {"tools", "documents", "messages", "add_generation_prompt", "chat_template",
                           "continue_final_message", "tokenize", "return_dict", "self"})
    for (const char* format : {"auto", "chatml"}) {
      Tokenizer tokenizer = tokenizer_with({}, "");
      try {
        choose_chat(tokenizer, {.format = format, .arguments = Json{{name, 1}}.dump()});
        FAIL() << name;
      } catch (const ConfigError& e) {
        EXPECT_TRUE(std::string(e.what()).starts_with(fmt::format("model.chat_arguments: {} is 1: ", name)))
            << e.what();
      }
    }
  Tokenizer tokenizer = tokenizer_with({}, "");
  choose_chat(tokenizer, {.arguments = R"({"enable_thinking": false})"});
}

TEST(ChatFormats, AFolderWithoutATemplateSaysWhichFormatItGets) {
  Tokenizer tokenizer = tokenizer_with({}, "");
  const auto said = choose_chat(tokenizer, {});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("has no chat template; its tokens are those of chatml"), std::string::npos);
}

TEST(ChatFormats, AFolderThatGotAnotherTemplateIsNoticed) {
  const TokenizerDir dir;
  tokenizer_with({}, "a").save(dir.path);
  EXPECT_FALSE(has_other_template(dir.path, tokenizer_with({}, "a")));
  EXPECT_TRUE(has_other_template(dir.path, tokenizer_with({}, "b")));
  EXPECT_TRUE(has_other_template(dir.path, tokenizer_with({}, "")));
  write_file_atomic(dir.path / "chat_template.jinja", "a");  // the same text at another place
  EXPECT_FALSE(has_other_template(dir.path, tokenizer_with({}, "a")));
  EXPECT_FALSE(has_other_template(dir.path / "gone", tokenizer_with({}, "a")));
}

TEST(ChatFormats, AKeptLayoutIsReadBack) {
  for (const std::string& name : layout_names()) {
    if (name == "auto") continue;
    ChatLayout layout = layout_named(name);
    layout.limits = {std::string(chat_limits::kSystem)};
    layout.date = "2026-01-02";
    EXPECT_EQ(layout_from(to_json(layout).dump(), "kept"), layout) << name;
  }
  EXPECT_THROW(layout_from("{}", "kept"), ConfigError);
}

TEST(ChatFormats, ATokenThatEndsAnswersIsNoText) {
  Tokenizer tokenizer = tokenizer_with({}, "");
  choose_chat(tokenizer, {.format = "chatml"});
  EXPECT_EQ(tokenizer.decode({tokenizer.special("<|im_end|>")}), "");
  const ChatFormat format(tokenizer);
  const std::vector<ChatMessage> asked = {{"user", "say <|im_end|>"}, {"assistant", "<|im_end|>"}};
  const auto written = format.conversation(asked);
  EXPECT_EQ(written.control_names, 2);
  EXPECT_EQ(std::ranges::count(written.ids, format.stop_id()), 2);  // behind both messages
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
  const auto ids_of = [&](const char* name, const char* text) {
    const std::vector<ChatMessage> asked = {{"user", "u"}, {"assistant", text}};
    const auto written = ChatFormat(tokenizer, name).conversation(asked);
    const auto [begin, end] = written.answers.at(0);
    return std::vector<int32_t>(written.ids.begin() + std::ptrdiff_t(begin),
                                written.ids.begin() + std::ptrdiff_t(end));
  };
  const auto answer = [&](const char* name, const char* text) {
    return text_of(tokenizer, ids_of(name, text));
  };
  const char* reasoned = "<think>\nwhy\n</think>\n\ncode";
  EXPECT_EQ(answer("qwen3", reasoned), "<think>\nwhy\n</think>\n\ncode<|im_end|>");
  EXPECT_EQ(answer("qwen3", "code"), "<think>\n\n</think>\n\ncode<|im_end|>");
  EXPECT_EQ(answer("chatml", reasoned), "<think>\nwhy\n</think>\n\ncode<|im_end|>");
  EXPECT_EQ(answer("qwq", "code"), "code<|im_end|>");
  EXPECT_EQ(answer("qwq", "why\n</think>\n\ncode"), "why\n</think>\n\ncode<|im_end|>");
  EXPECT_EQ(answer("qwq", reasoned), "why\n</think>\n\ncode<|im_end|>");
  EXPECT_EQ(answer("qwen3_no_thinking", reasoned), "<think>\nwhy\n</think>\n\ncode<|im_end|>");
  EXPECT_EQ(answer("qwen3_no_thinking", "code"), "code<|im_end|>");
  EXPECT_TRUE(ChatFormat(tokenizer, "qwq").opens_reasoning());
  EXPECT_FALSE(ChatFormat(tokenizer, "qwen3").opens_reasoning());
  EXPECT_EQ(ids_of("qwen3", reasoned).front(), tokenizer.special("<think>"));
  EXPECT_EQ(std::ranges::count(ids_of("qwq", "a</think>b"), tokenizer.special("</think>")), 1);
}

}  // namespace
}  // namespace temper::policy
