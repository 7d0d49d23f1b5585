#include "rollout/chat_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"

namespace temper::rollout {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kGood =
    R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})";

class ChatExamples : public testing::Test {
 protected:
  ~ChatExamples() override { fs::remove(file_); }

  std::vector<ChatExample> read(const std::string& text) {
    write_file(file_, text);
    return read_chat_examples(file_);
  }

  // What is said of a file whose third line this is.
  std::string error_of(const std::string& line) {
    try {
      read(std::string(kGood) + "\n\n" + line + "\n" + kGood + "\n");
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "no error";
  }

  std::string error_of_messages(const std::string& messages) {
    return error_of("{\"messages\": [" + messages + "]}");
  }

  // What is said of a file with this content; empty: of a folder.
  std::string error_of_file(const std::string& content) {
    try {
      content.empty() ? read_chat_examples(fs::temp_directory_path()) : read(content);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "no error";
  }

  const fs::path file_ = fs::temp_directory_path() / fmt::format("temper_examples_{}.jsonl", ::getpid());
};

TEST_F(ChatExamples, HaveTurnsAndWeights) {
  const auto examples = read(std::string(kGood) + "\r\n \n" + R"({"id": 7, "messages": [)" +
                             R"({"role": "system", "content": "s"}, {"role": "user", "content": "ü\n"}, )" +
                             R"({"role": "assistant", "content": "one", "train": false}, )" +
                             R"({"role": "user", "content": "q"}, )" +
                             R"({"role": "assistant", "content": "two", "weight": 0.25}]})");
  ASSERT_EQ(examples.size(), 2u);
  EXPECT_EQ(examples[0].line, 1);
  EXPECT_EQ(examples[1].line, 3);
  const auto& messages = examples[1].messages;
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[1].content, "ü\n");
  EXPECT_EQ(messages[2].weight, 0);
  EXPECT_EQ(messages[4].weight, 0.25);
  EXPECT_EQ(examples[0].messages[1].weight, 1);
  EXPECT_EQ(messages[1].weight, 0);
}

TEST_F(ChatExamples, ABrokenLineIsNamedWithWhatIsAllowed) {
  const std::string place = file_.string() + ":3: ";
  const std::string user = R"({"role": "user", "content": "a"},)";
  for (const auto& [error, said] : std::vector<std::pair<std::string, std::string>>{
           {error_of("{\"messages\": ["), "it is not JSON"},
           {error_of("[]"), "must be an object with a list of messages"},
           {error_of(
                fmt::format("{{\"messages\": {}{}}}", std::string(100'000, '['), std::string(100'000, ']'))),
            "deep"},
           {error_of_messages(R"({"role": "\u001b[31m", "content": "a"})"), "role is '\\x1b[31m'"},
           {error_of_messages(R"({"role": "user", "role": "user", "content": "a"})"), "names 'role' twice"},
           {error_of("{}"), "must be an object with a list of messages; a line is {\"messages\": ["},
           {error_of(R"({"conversations": [{"from": "human", "value": "a"}]})"),
            "human is user and gpt is assistant"},
           {error_of(R"({"prompt": "a", "completion": "b"})"), "the completion the assistant's"},
           {error_of(R"({"instruction": "a", "output": "b"})"), "output is the assistant's"},
           {error_of(R"({"text": "a"})"), "a text without roles is not learned"},
           {error_of("["), "each line is a JSON object of its own: a line is {\"messages\": ["},
           {error_of_messages(user + R"({"role": "assistant", "content": ""})"),
            "content is \"\": an answer that is"},
           {error_of_messages(user + R"({"role": "assistant", "content": " \n"})"),
            "\"train\": false makes it"},
           {error_of_messages(user + R"({"role": "assistant", "content": "b", "weight": 1e300})"),
            "and at most 1000000"},
           {error_of_messages(""), "its list of messages is empty"},
           {error_of_messages("3"), "message 1: it is 3: must be an object"},
           {error_of_messages(R"({"role": "tool", "content": "a"})"), "must be system, user or assistant"},
           {error_of_messages(R"({"role": "assistant", "content": "a"})"),
            "the first must be system or user"},
           {error_of_messages(user + R"({"role": "user", "content": "a"})"), "after user must be assistant"},
           {error_of_messages(user + R"({"role": "system", "content": "a"})"),
            "after user must be assistant"},
           {error_of_messages(R"({"role": "user"})"), "message 1: it has no content"},
           {error_of_messages(R"({"role": "user", "content": ["a"]})"),
            "content is [\"a\"]: must be a string"},
           {error_of_messages(R"({"role": "user", "content": "a", "tool_calls": []})"),
            "'tool_calls' is not known"},
           {error_of_messages(R"({"role": "user", "content": "a", "weight": 1})"),
            "for the assistant's messages alone"},
           {error_of_messages(R"({"role": "user", "content": "a"})"), "its last message is the user's"},
           {error_of_messages(user + R"({"role": "assistant", "content": "b", "weight": -1})"), "at least 0"},
           {error_of_messages(user + R"({"role": "assistant", "content": "b", "weight": "1"})"),
            "must be a number"},
           {error_of_messages(user + R"({"role": "assistant", "content": "b", "weight": 1e999})"),
            "it is not JSON"},
           {error_of_messages(user + R"({"role": "assistant", "content": "b", "train": 0})"),
            "true or false"},
           {error_of_messages(user + R"({"role": "assistant", "content": "b", "train": false})"),
            "none of its messages is learned"},
           {error_of_messages(user + "{\"role\": \"assistant\", \"content\": \"\xff\"}"),
            "it is not valid UTF-8"}}) {
    EXPECT_THAT(error, HasSubstr(place));
    EXPECT_THAT(error, HasSubstr(said));
  }
}

TEST_F(ChatExamples, AFileMustBeThereAndHoldSomething) {
  EXPECT_THROW(read_chat_examples("/nowhere/data.jsonl"), ConfigError);
  EXPECT_THROW(read_chat_examples(fs::temp_directory_path()), ConfigError);
  EXPECT_THAT(error_of_file(""), HasSubstr("is a folder: name a file of JSON lines in it"));
  EXPECT_THAT(error_of_file("\x1f\x8b\x08"), HasSubstr("unpack it with gunzip first"));
  EXPECT_THAT(error_of_file("PAR1\x15"), HasSubstr("is a Parquet file: write it as JSON lines"));
  EXPECT_THROW(read("\n \n"), ConfigError);
}

TEST_F(ChatExamples, LinesReadBack) {
  ChatExample example{.messages = {{"system", "s"},
                                   {"user", "\"a\"\n"},
                                   {"assistant", "b"},
                                   {"user", "c"},
                                   {"assistant", "d", 1},
                                   {"user", "e"},
                                   {"assistant", "f", 0.5}},
                      .task = "add",
                      .speedup = 1.5,
                      .seed = 3};
  const std::string line = to_line(example);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_THAT(line, HasSubstr(R"("task":"add","speedup":1.5,"seed":3)"));
  const auto back = read(line + "\n");
  ASSERT_EQ(back.size(), 1u);
  ASSERT_EQ(back[0].messages.size(), 7u);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(back[0].messages[i].role, example.messages[i].role);
    EXPECT_EQ(back[0].messages[i].content, example.messages[i].content);
    EXPECT_EQ(back[0].messages[i].weight, example.messages[i].weight);
  }
}

TEST(IsUtf8, WhatJsonCanHold) {
  EXPECT_TRUE(is_utf8("aü漢"));
  EXPECT_FALSE(is_utf8("a\xff"));
  EXPECT_FALSE(is_utf8("\xc3"));
}

}  // namespace
}  // namespace temper::rollout
