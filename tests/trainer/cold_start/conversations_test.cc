// Conversations in the forms in which people have them: each form right, and with one fault.

#include "trainer/cold_start/conversations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/machine/child_process.h"
#include "rollout/chat_examples.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;
using rollout::ChatExample;
using testing::ElementsAre;
using testing::HasSubstr;

std::string packed(const std::string& text) {
  const std::string path = (fs::temp_directory_path() / fmt::format("temper_packed_{}", ::getpid())).string();
  const gzFile file = gzopen(path.c_str(), "wb9");
  EXPECT_EQ(gzwrite(file, text.data(), unsigned(text.size())), int(text.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  std::string bytes = read_file(path);
  fs::remove(path);
  return bytes;
}

// One row of each form, all of which say the same.
const std::string kMessages =
    R"({"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]})";
const std::string kShare =
    R"({"id": "x", "conversations": [{"from": "human", "value": "Q"}, {"from": "gpt", "value": "A"}]})";
const std::string kPair = R"({"prompt": "Q", "completion": "A"})";
const std::string kAlpaca = R"({"instruction": "Q", "input": "", "output": "A"})";
const std::string kVerl =
    R"({"data_source": "d", "prompt": [{"role": "user", "content": "Q"}], "ability": "code",)"
    R"( "reward_model": {"style": "rule", "ground_truth": "g"}, "extra_info": {"index": 0, "answer": "A"}})";
const std::string kNested =
    R"({"trace": {"turns": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]}})";

class Conversations : public testing::Test {
 protected:
  Conversations() { fs::create_directories(dir_); }
  ~Conversations() override { fs::remove_all(dir_); }

  std::string file(const std::string& bytes, const std::string& name = "data.jsonl") {
    write_file(dir_ / name, bytes);
    return (dir_ / name).string();
  }

  std::vector<ChatExample> read(const ConversationSource& source, ConversationFacts* facts = nullptr) {
    std::vector<ChatExample> all;
    const ConversationFacts found = read_conversations(source, [&](ChatExample&& one) {
      all.push_back(std::move(one));
      return true;
    });
    if (facts) *facts = found;
    return all;
  }

  ChatExample one(const std::string& row, const DataFields& fields = {}) {
    const auto all = read({.path = file(row), .fields = fields});
    EXPECT_EQ(all.size(), 1u);
    return all.at(0);
  }

  // What is said of a file whose third line is the row, behind the folder's name. The first row is `good`.
  std::string fault(const std::string& row, const std::string& good = kMessages,
                    const DataFields& fields = {}) {
    return fault_of({.path = file(good + "\n\n" + row + "\n" + good + "\n"), .fields = fields});
  }

  std::string fault_of(const ConversationSource& source) {
    try {
      read(source);
    } catch (const ConfigError& e) {
      const std::string said = e.what(), place = dir_.string() + "/";
      EXPECT_EQ(said.find(place), 0u) << said;
      return said.substr(place.size());
    }
    return "none";
  }

  const fs::path dir_ = fs::temp_directory_path() / fmt::format("temper_conversations_{}", ::getpid());
};

std::vector<std::string> texts(const ChatExample& example) {
  std::vector<std::string> all;
  for (const rollout::ChatMessage& message : example.messages)
    all.push_back(fmt::format("{} {} {}", message.role, message.content, message.weight));
  return all;
}

struct Layout {
  const char* name;
  std::string (*write)(const std::vector<std::string>& rows);
};

std::string join(const std::vector<std::string>& rows, const std::string& between) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) text += (i > 0 ? between : "") + rows[i];
  return text;
}

const std::vector<Layout> kLayouts = {
    {"lines.jsonl", [](const std::vector<std::string>& rows) { return join(rows, "\n"); }},
    {"dos.jsonl",
     [](const std::vector<std::string>& rows) { return "\xef\xbb\xbf" + join(rows, "\r\n") + "\r\n"; }},
    {"array.json", [](const std::vector<std::string>& rows) { return "[\n" + join(rows, ",\n") + "\n]\n"; }},
    {"behind.json",
     [](const std::vector<std::string>& rows) {
       std::string text = join(rows, "\n");
       for (size_t at = 0; (at = text.find(", ", at)) != text.npos; at += 2) text.replace(at, 2, ",\n  ");
       return text;
     }},
    {"wrapped.json",
     [](const std::vector<std::string>& rows) {
       return "{\"version\": 1, \"data\": [" + join(rows, ", ") + "], \"n\": 3}";
     }},
    {"lines.jsonl.gz", [](const std::vector<std::string>& rows) { return packed(join(rows, "\n")); }},
    {"array.json.gz",
     [](const std::vector<std::string>& rows) { return packed("[" + join(rows, ", ") + "]"); }}};

struct Form {
  std::string row, name;
  DataFields fields = {};
};

const std::vector<Form> kForms = {
    {kMessages, "messages (messages: role, content)"},
    {kShare, "ShareGPT (conversations: from, value)"},
    {kPair, "prompt + completion (prompt, completion)"},
    {kAlpaca, "alpaca (instruction, input on a line of its own, output)"},
    {kVerl, "prompt + completion (prompt, extra_info.answer)", {.completion = "extra_info.answer"}},
    {kNested, "messages (trace.turns: role, content)", {.messages = "trace.turns"}}};

// 42 files.
TEST_F(Conversations, OfEachFormInEachLayoutAreTheSame) {
  for (const Form& form : kForms)
    for (const Layout& layout : kLayouts) {
      SCOPED_TRACE(form.name + " in " + layout.name);
      ConversationFacts facts;
      const auto all = read(
          {.path = file(layout.write({form.row, form.row, form.row}), layout.name), .fields = form.fields},
          &facts);
      ASSERT_EQ(all.size(), 3u);
      for (const ChatExample& example : all)
        EXPECT_THAT(texts(example), ElementsAre("user Q 0", "assistant A 1"));
      EXPECT_EQ(facts.conversations, 3);
      ASSERT_EQ(facts.forms.size(), 1u);
      EXPECT_EQ(facts.forms[0].first, form.name);
      EXPECT_EQ(facts.first, "user 1, assistant 1*");
    }
}

// The same 42 with a row that lacks its answer's text.
TEST_F(Conversations, AFaultIsNamedWithItsPlaceInEachLayout) {
  const std::map<std::string, std::string> line_of = {{"lines.jsonl", "2"},    {"dos.jsonl", "2"},
                                                      {"array.json", "3"},     {"wrapped.json", "1"},
                                                      {"lines.jsonl.gz", "2"}, {"array.json.gz", "1"}};
  for (const Form& form : kForms) {
    std::string bad = form.row;
    bad.replace(bad.find("\"A\""), 3, "7");
    for (const Layout& layout : kLayouts) {
      SCOPED_TRACE(form.name + " in " + layout.name);
      const std::string said = fault_of(
          {.path = file(layout.write({form.row, bad, form.row}), layout.name), .fields = form.fields});
      EXPECT_THAT(said, testing::StartsWith(std::string(layout.name) + ":"));
      if (line_of.contains(layout.name)) {
        EXPECT_THAT(said, HasSubstr(":" + line_of.at(layout.name) + ": "));
      }
      EXPECT_THAT(said, testing::ContainsRegex(
                            "(content|value|completion|output|extra_info.answer) is 7: must be a"));
    }
  }
}

TEST_F(Conversations, HaveOtherNamesToo) {
  const auto same = ElementsAre("user Q 0", "assistant A 1");
  for (
      const char* row :
      {R"({"messages": [{"from": "user", "value": "Q"}, {"from": "assistant", "value": "A"}]})",
       R"({"conversations": [{"role": "human", "content": "Q"}, {"role": "gpt", "content": "A", "tool_calls": null}]})",
       R"({"conversation": [{"role": "user", "content": ["Q"]}, {"role": "assistant", "content": [{"type": "text", "text": "A"}]}]})",
       R"({"prompt": "Q", "response": "A"})", R"({"question": "Q", "answer": "A", "label": true})",
       R"({"input": "Q", "output": "A", "system": ""})", R"({"query": "Q", "response": "A", "tools": "[]"})",
       R"({"prompt": [{"role": "user", "content": "Q"}], "completion": [{"role": "assistant", "content": "A"}]})",
       R"({"prompt": {"role": "user", "content": "Q"}, "completion": "A", "extra": {"messages": []}})",
       R"({"instruction": "Q", "response": "A", "context": "", "category": "qa"})",
       R"({"instruction": "", "input": "Q", "output": "A", "history": []})",
       R"({"prompt": "Q", "input": "", "completion": "A", "answer": "", "context": [], "images": []})",
       R"({"question": "Q", "answer": "A", "thinking": "", "reasoning": "off", "think": false, "label": "1"})",
       R"({"messages": [{"role": "user", "content": "Q", "id": 1}, {"role": "assistant", "content": "A", "name": ""}], "prompt": "P"})"})
    EXPECT_THAT(texts(one(row)), same) << row;
}

TEST_F(Conversations, KeepSystemMessagesTurnsAndWeights) {
  EXPECT_THAT(
      texts(one(R"({"conversations": [{"from": "system", "value": "S"}, {"from": "human", "value": "ü\n"},
      {"from": "gpt", "value": "1", "train": false}, {"from": "human", "value": "b"}, {"from": "gpt", "value": "2", "weight": 0.25}]})")),
      ElementsAre("system S 0", "user ü\n 0", "assistant 1 0", "user b 0", "assistant 2 0.25"));
  EXPECT_THAT(texts(one(R"({"instruction": "Q", "input": "I", "output": "A", "system": "S", "weight": 2})")),
              ElementsAre("system S 0", "user Q\nI 0", "assistant A 2"));
  EXPECT_THAT(texts(one(R"({"system_prompt": "S", "question": "Q", "response": "A"})")),
              ElementsAre("system S 0", "user Q 0", "assistant A 1"));
  EXPECT_THAT(
      texts(one(R"({"prompt": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "old"},
      {"role": "user", "content": "R"}], "completion": "A"})")),
      ElementsAre("user Q 0", "assistant old 0", "user R 0", "assistant A 1"));
  EXPECT_THAT(texts(one(R"({"a": {"b": [{"m": "Q"}, {"m": "A"}]}, "w": {"x": 0.5}})",
                        {.prompt = "a.b.0.m", .completion = "a.b.1.m", .weight = "w.x"})),
              ElementsAre("user Q 0", "assistant A 0.5"));
  EXPECT_THAT(
      texts(one(
          R"({"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "", "train": false},
      {"role": "user", "content": "R"}, {"role": "assistant", "content": "A"}]})")),
      ElementsAre("user Q 0", "assistant  0", "user R 0", "assistant A 1"));
}

std::string with(const std::string& messages) { return "{\"messages\": [" + messages + "]}"; }

TEST_F(Conversations, AFaultIsNamedWithItsLineAndField) {
  const std::string user = R"({"role": "user", "content": "a"})",
                    answer = R"({"role": "assistant", "content": "b"})";
  const std::string then = user + ", ";
  for (
      const auto& [row, said] : std::vector<std::pair<std::string, std::string>>{
          {with(then + answer + R"(, {"role": "system", "content": "s"}, )" + answer),
           "message 3: role is system: after assistant must be user; a system message may only come first"},
          {with(then + R"({"role": "tool", "content": "b"})"),
           "message 2: role is 'tool': must be system, user (human) or assistant (gpt); messages of tools"},
          {with(R"({"from": "function_call", "value": "b"})"), "message 1: from is 'function_call'"},
          {with(R"({"role": "developer", "content": "b"})"), "developer is called system here"},
          {with(R"({"role": "\u001b[31m", "content": "a"})"), "role is '\\x1b[31m'"},
          {with(R"({"role": 3, "content": "a"})"), "message 1: role is 3"},
          {with(then + then + answer), "message 2: role is user: after user must be assistant; join the two"},
          {with(then + answer + ", " + answer), "message 3: role is assistant: after assistant must be user"},
          {with(answer), "message 1: role is assistant: the first must be system or user"},
          {with(user), "its last message is the user's: must be the assistant's"},
          {with(""), "its list of messages is empty"},
          {with("3"), "message 1: it is 3: must be an object"},
          {with(R"({"role": "user"})"), "message 1: it has no content"},
          {with(R"({"content": "a"})"), "message 1: it has no role"},
          {with(R"({"role": "user", "from": "human", "content": "a"})"),
           "message 1: it has both role and from"},
          {with(then + R"({"role": "assistant", "content": null})"),
           "message 2: content is null: must be a text"},
          {with(then + R"({"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]})"),
           "message 2: tool_calls is"},
          {with(then + R"({"role": "assistant", "content": "b", "reasoning_content": "r"})"),
           "put it into the content as <think>"},
          {with(R"({"role": "user", "content": "a", "name": "Ann"})"), "message 1: 'name' is not known"},
          {with(R"({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]})"),
           "message 1: content has {"},
          {with(
               R"({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image", "text": "b"}]})"),
           "as part 2: must be a text"},
          {with(R"({"role": "user", "content": {"a": 1}})"), "content is {\"a\":1}: must be a text"},
          {with(then + R"({"role": "assistant", "content": " \n"})"), "message 2: the answer is empty"},
          {with(then + R"({"role": "assistant", "content": "b", "weight": 1e300})"),
           "message 2: weight is 1e+300: must be a number of at least 0 and at most 1000"},
          {with(then + R"({"role": "assistant", "content": "b", "weight": -1})"), "weight is -1: must be"},
          {with(then + R"({"role": "assistant", "content": "b", "weight": NaN})"), "it is not JSON: byte"},
          {with(then + R"({"role": "assistant", "content": "b", "weight": "1"})"),
           "weight is \"1\": must be a number"},
          {with(then + R"({"role": "assistant", "content": "b", "train": 0})"),
           "train is 0: must be true or false"},
          {with(then + R"({"role": "assistant", "content": "b", "train": false})"),
           "none of its messages is learned"},
          {with(R"({"role": "user", "content": "a", "weight": 1}, )" + answer),
           "message 1: weight and train are for the assistant's"},
          {with(R"({"role": "user", "role": "user", "content": "a"})"), "names 'role' twice"},
          {with(then + "{\"role\": \"assistant\", \"content\": \"\xff\"}"), "it is not valid UTF-8: byte"},
          {R"({"messages": "a"})", "messages is \"a\": must be a list of messages"},
          {R"({"messages": null})", "messages is null: must be a list of messages"},
          {R"({"text": "a"})",
           "it has no field messages, which the file's first row has; its fields are text"},
          {R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "tools": [{"name": "f"}]})",
           "tools is [{\"name\":\"f\"}]: calls of tools cannot be learned"},
          {R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, )" +
               answer + R"(], "system": "t"})",
           "it has a system beside a system message"},
          {"{\"messages\": [", "it is not JSON: the file ends in the middle of it"},
          {R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "weight": 500}], "weight": 3})",
           "weight is 3, which makes the weight of a message 1500: must be at most 1000"},
          {"3", "it is not JSON: it begins with '3'"}})
    EXPECT_THAT(fault(row), testing::AllOf(testing::StartsWith("data.jsonl:3: "), HasSubstr(said))) << row;
}

TEST_F(Conversations, PairsAndAlpacaHaveFaultsOfTheirOwn) {
  for (const auto& [row, said] : std::vector<std::pair<std::string, std::string>>{
           {R"({"prompt": "Q"})",
            "it has no field completion, which the file's first row has; its fields are prompt"},
           {R"({"prompt": "Q", "completion": null})",
            "completion is null: must be a text or a list of messages"},
           {R"({"prompt": "Q", "completion": ""})", "message 2: the answer is empty"},
           {R"({"prompt": "Q", "completion": "A", "label": false})",
            "label is false: an answer that is not wanted"},
           {R"({"prompt": "Q", "completion": "A", "weight": -1})",
            "weight is -1: must be a number of at least 0"},
           {R"({"prompt": "Q", "completion": "A", "weight": "NaN"})", "weight is \"NaN\": must be a number"},
           {R"({"prompt": "Q", "completion": "A", "weight": 0})", "none of its messages is learned"},
           {R"({"prompt": [{"role": "assistant", "content": "Q"}], "completion": "A"})",
            "prompt ends with an answer"},
           {R"({"prompt": "Q", "completion": [{"role": "user", "content": "A"}]})",
            "completion begins with the user's message"},
           {R"({"prompt": [], "completion": "A"})", "its list of messages is empty"}})
    EXPECT_THAT(fault(row, kPair), testing::AllOf(testing::StartsWith("data.jsonl:3: "), HasSubstr(said)))
        << row;
  EXPECT_THAT(fault(R"({"instruction": "Q", "input": 3, "output": "A"})", kAlpaca),
              HasSubstr("data.jsonl:3: input is 3: must be a text"));
  EXPECT_THAT(fault(R"({"instruction": "Q", "output": "A", "history": [["a", "b"]]})", kAlpaca),
              HasSubstr("history is [[\"a\",\"b\"]]"));
  EXPECT_THAT(fault(R"({"instruction": "Q", "output": " "})", kAlpaca), HasSubstr("the answer is empty"));
}

// Each row beside a first row that has one of the names, or none.
TEST_F(Conversations, AnInputOrAContextIsAskedOrRefusedInEachRow) {
  const std::string context = R"({"instruction": "Q", "context": "I", "output": "A"})",
                    input = R"({"instruction": "Q", "input": "I", "context": "", "output": "A"})",
                    null = R"({"instruction": "Q", "input": null, "context": "I", "output": "A"})";
  const auto all = read({.path = file(join({kAlpaca, context, input, null}, "\n"))});
  ASSERT_EQ(all.size(), 4u);
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_THAT(texts(all[i]), ElementsAre("user Q\nI 0", "assistant A 1"));
  for (const std::string& row : {context, input, null})
    EXPECT_THAT(texts(one(row)), ElementsAre("user Q\nI 0", "assistant A 1"));
  const std::string both = R"({"instruction": "Q", "input": "I", "context": "J", "output": "A"})";
  for (const std::string& good : {kAlpaca, context})
    EXPECT_THAT(fault(both, good), HasSubstr("data.jsonl:3: it has both input and context"));
  for (const char* name : {"input", "context", "question", "instruction"})
    EXPECT_THAT(
        fault(fmt::format(R"({{"prompt": "Q", "{}": "I", "completion": "A"}})", name), kPair),
        HasSubstr(fmt::format("data.jsonl:3: it has both prompt and {}; cold_start.fields.prompt names "
                              "the one that is meant",
                              name)));
  const std::string squad = R"({"question": "Q", "context": "I", "answer": "A"})";
  EXPECT_THAT(
      fault_of({.path = file(squad)}),
      HasSubstr("it has both question and context; cold_start.fields.prompt names the one that is meant, "
                "and the form of alpaca (instruction, context, output) asks both"));
  EXPECT_THAT(texts(one(squad, {.prompt = "question"})), ElementsAre("user Q 0", "assistant A 1"));
  EXPECT_THAT(fault(R"({"prompt": "Q", "completion": "A", "answer": "B"})", kPair),
              HasSubstr("it has both completion and answer; cold_start.fields.completion names"));
  EXPECT_THAT(fault(kMessages.substr(0, kMessages.size() - 1) + R"(, "conversations": [1]})"),
              HasSubstr("it has both messages and conversations; cold_start.fields.messages names"));
}

TEST_F(Conversations, WhatARowSaysBesideThemIsNotLostInSilence) {
  const auto beside = [](const std::string& row, const std::string& field) {
    return row.substr(0, row.size() - 1) + ", " + field + "}";
  };
  for (const std::string& row : {kMessages, kShare, kPair, kAlpaca}) {
    for (const char* name : {"reasoning", "reasoning_content", "thinking", "think", "thoughts"})
      EXPECT_THAT(fault(beside(row, fmt::format(R"("{}": "why")", name)), row),
                  HasSubstr(fmt::format(
                      "data.jsonl:3: {} is not read: put it into the content as <think>…</think>", name)));
    for (const char* label : {"false", "0", "0.0", R"("false")", R"("False")", R"("0")"})
      EXPECT_THAT(fault(beside(row, fmt::format("\"label\": {}", label)), row),
                  HasSubstr(fmt::format("label is {}: an answer that is not wanted", label)));
    for (const char* label : {"null", "true", "1", R"("true")", R"("code")"})
      EXPECT_EQ(fault(beside(row, fmt::format("\"label\": {}", label)), row), "none");
    for (const char* name : {"image", "images", "audio", "audios", "video", "videos"})
      EXPECT_THAT(fault(beside(row, fmt::format(R"("{}": ["x"])", name)), row),
                  HasSubstr(fmt::format("{} is [\"x\"]: only text is learned", name)));
    EXPECT_THAT(fault(beside(row, R"("chosen": "x", "rejected": "y")"), row),
                HasSubstr("rejected is \"y\": an answer that is not wanted"));
  }
  EXPECT_THAT(fault(beside(kMessages, R"("rejected": "y")")), HasSubstr("rejected is \"y\""));
  EXPECT_THAT(texts(one(beside(kMessages, R"("rejected": "y")"), {.messages = "messages"})),
              ElementsAre("user Q 0", "assistant A 1"));
  EXPECT_THAT(texts(one(R"({"prompt": "Q", "chosen": "A", "rejected": "B"})", {.completion = "chosen"})),
              ElementsAre("user Q 0", "assistant A 1"));
  EXPECT_THAT(texts(one(R"({"prompt": "Q", "thinking": "A"})", {.completion = "thinking"})),
              ElementsAre("user Q 0", "assistant A 1"));
}

TEST_F(Conversations, AFirstRowOfNoFormIsToldItsFieldsAndTheWayOut) {
  const auto said = [&](const std::string& row, const DataFields& fields = {}) {
    return fault_of({.path = file(row), .fields = fields});
  };
  EXPECT_THAT(said(R"({"text": 5})"), HasSubstr("data.jsonl:1: text is 5: must be a text"));
  EXPECT_THAT(said(R"({"text": " \n"})"), HasSubstr("a text that is learned says something"));
  EXPECT_THAT(said(R"({"text": "a", "weight": 0})"), HasSubstr("its weight is 0"));
  EXPECT_THAT(said(R"({"text": "a", "prompt": "b"})"), HasSubstr("it has no form that is known"));
  EXPECT_THAT(
      said(R"({"a": {"b": 1, "c": []}, "d": 2})"),
      HasSubstr("its fields are a.b, a.c, d; cold_start.fields.messages, or .prompt and .completion"));
  EXPECT_THAT(said(kVerl), HasSubstr("cold_start.fields.completion=extra_info.answer"));
  EXPECT_THAT(said(R"({"prompt": "Q", "chosen": "A", "rejected": "B"})"),
              HasSubstr("cold_start.fields.completion=chosen"));
  EXPECT_THAT(said(R"([{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}])"),
              HasSubstr("it is one message"));
  EXPECT_THAT(said(R"({"prompt": "Q", "response": "A", "answer": "B"})"),
              HasSubstr("it has both response and answer"));
  EXPECT_THAT(
      said(kNested, {.messages = "trace.tunrs"}),
      HasSubstr(
          "it has no field trace.tunrs, which cold_start.fields.messages names; its fields are trace.turns"));
  EXPECT_THAT(said(kPair, {.weight = "w"}),
              HasSubstr("it has no field w, which cold_start.fields.weight names"));
  EXPECT_THAT(said(kNested, {.messages = "trace"}), HasSubstr("trace is {\"turns\":["));
  EXPECT_THAT(said(" \n"), HasSubstr("data.jsonl: holds no conversation"));
  EXPECT_THAT(said(R"({"data": []})"), HasSubstr("it holds no conversation, since data is an empty list"));
  EXPECT_THAT(said("{}"), HasSubstr("it has no form that is known: it has no fields; cold_start.fields"));
  EXPECT_THAT(said(R"({"messages": {"role": "user", "content": "Q"}})"),
              HasSubstr("messages is {\"content\":\"Q\",\"role\":\"user\"}: must be a list of messages"));
  for (const auto& [row, field] : std::vector<std::pair<std::string, std::string>>{
           {R"({"prompt": "Q", "completion": null})", "completion"},
           {R"({"question": null, "answer": "A"})", "question"},
           {R"({"messages": null})", "messages"},
           {R"({"conversations": null, "id": 1})", "conversations"},
           {R"({"instruction": "Q", "input": null, "output": null})", "output"},
           {R"({"instruction": null, "input": null, "output": "A"})", "instruction"},
           {R"({"text": null})", "text"}})
    EXPECT_THAT(said(row), HasSubstr("data.jsonl:1: " + field + " is null: must be a")) << row;
}

TEST_F(Conversations, WhatIsNoJsonIsRefusedInASentence) {
  for (const auto& [bytes, said] : std::vector<std::pair<std::string, std::string>>{
           {"prompt,completion\nHi,Yes.\n", "it is not JSON: it begins with 'prompt,c'"},
           {std::string("PK\3\4"), "is a zip archive"},
           {"<html>", "is a web page"},
           {"PAR1" + std::string(60, '\0') + "PAR1", "is a parquet file, which a Python with pyarrow reads"},
           {R"({"x": )" + std::string(34, '[') + std::string(34, ']') + "}", "is nested more than 34 deep"},
           {packed(kMessages).substr(0, 40), "ends in the middle of what gzip packed"}})
    EXPECT_THAT(fault_of({.path = file(bytes)}), HasSubstr(said));
  EXPECT_THAT(fault_of({.path = (dir_ / "nowhere.jsonl").string()}), HasSubstr("no such file"));
}

TEST_F(Conversations, OfAFolderAreThoseOfItsFiles) {
  file(kMessages + "\n" + kMessages, "b.jsonl");
  file(packed(kShare), "a.json.gz");
  file("words", "README.md");
  ConversationFacts facts;
  const auto all = read({.path = dir_.string()}, &facts);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].place, (dir_ / "a.json.gz:1").string());
  EXPECT_EQ(all[2].place, (dir_ / "b.jsonl:2").string());
  EXPECT_EQ(facts.line("DIR", 1, 10),
            "2 conversations from DIR (2 files), ShareGPT (conversations: from, value) in a.json.gz, "
            "messages (messages: role, content) in "
            "b.jsonl; left out: 1 longer than 10 tokens, README.md");
  file("", "c.jsonl");
  EXPECT_THAT(fault_of({.path = dir_.string()}), HasSubstr("c.jsonl: holds no conversation"));
}

TEST_F(Conversations, ComeInBatchesInOrder) {
  std::string rows;
  for (int i = 0; i < 5000; ++i) rows += fmt::format("{{\"prompt\": \"{}\", \"completion\": \"A\"}}\n", i);
  std::vector<size_t> sizes;
  int next = 0;
  read_conversation_batches({.path = file(rows)}, [&](const std::vector<ChatExample>& batch) {
    sizes.push_back(batch.size());
    for (const ChatExample& example : batch) EXPECT_EQ(example.messages[0].content, std::to_string(next++));
  });
  EXPECT_THAT(sizes, ElementsAre(2048, 2048, 904));
}

TEST_F(Conversations, ThatWereWrittenReadBack) {
  const ChatExample example{.messages = {{"system", "s"},
                                         {"user", "\"a\"\n"},
                                         {"assistant", "b"},
                                         {"user", "c"},
                                         {"assistant", "d", 1},
                                         {"user", "e"},
                                         {"assistant", "f", 0.5}},
                            .task = "add",
                            .speedup = 1.5,
                            .seed = 3};
  EXPECT_EQ(texts(one(rollout::to_line(example) + "\n")), texts(example));
}

// The traces that Dr. Kernel publishes are such a table: messages of five turns, and other columns.
TEST_F(Conversations, OfAParquetTable) {
  std::string python = std::string(TEMPER_SOURCE_DIR) + "/.deps/venv/bin/python3";
  if (const char* told = std::getenv("TEMPER_PYTHON")) python = told;
  if (!output_of(shell_word(python) + " -c 'import pyarrow.parquet'").ok)
    GTEST_SKIP() << python << " has no pyarrow: `pip install pyarrow` there, or TEMPER_PYTHON names another";
  const std::string path = (dir_ / "traces.parquet").string();
  const std::string make =
      "import pyarrow as pa, pyarrow.parquet as pq, sys\n"
      "turns = [{'role': r, 'content': f'{r} {i}'} for i in range(5) for r in ('user', 'assistant')]\n"
      "pq.write_table(pa.table({'messages': [turns] * 300, 'uuid': range(300), 'final_speedup': "
      "[float('nan')] * 300, 'blob': [b'x'] * 300,\n"
      "  'weight': [1.0] * 299 + [float(sys.argv[2])], 'tools': [None] * 300}), sys.argv[1], "
      "row_group_size=100)\n";
  const auto write = [&](const char* weight) {
    const CommandOutput said = output_of(
        fmt::format("{} -c {} {} {}", shell_word(python), shell_word(make), shell_word(path), weight));
    ASSERT_TRUE(said.ok) << said.text;
  };
  write("2");
  ConversationFacts facts;
  const auto all = read({.path = path, .pythons = {"/bin/false", python}}, &facts);
  ASSERT_EQ(all.size(), 300u);
  EXPECT_EQ(all[0].messages.size(), 10u);
  EXPECT_EQ(all[299].messages[9].weight, 2);
  EXPECT_EQ(all[299].place, path + ": row 300");
  EXPECT_EQ(facts.forms[0].first, "messages (messages: role, content), weight (weight)");
  write("nan");
  EXPECT_THAT(fault_of({.path = path, .pythons = {python}}),
              HasSubstr("traces.parquet: row 300: weight is \"nan\": must be a number"));
  write_file(path, read_file(path).substr(0, 2000));
  EXPECT_THAT(fault_of({.path = path, .pythons = {python}}),
              HasSubstr("is no parquet file that can be read: "));
}

}  // namespace
}  // namespace temper::trainer
