#include "rollout/prompt/prompt_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "tests/policy/text/tokenizer_fixture.h"

namespace temper::rollout {

using testing::HasSubstr;
using testing::Not;

namespace {

PromptFields fields(TemplateKind kind) {
  PromptFields all;
  for (const PromptField& field : fields_of(kind)) all[field.name] = "<" + field.name + ">";
  return all;
}

std::string filled(const std::string& text, TemplateKind kind = TemplateKind::kFirst) {
  return PromptTemplate(kind, text, "words.txt").fill(fields(kind));
}

std::string refused(const std::string& text, TemplateKind kind = TemplateKind::kFirst) {
  try {
    PromptTemplate(kind, text, "words.txt");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(PromptTemplate, FillsEachFieldOfItsKind) {
  for (const TemplateKind kind : {TemplateKind::kSystem, TemplateKind::kFirst, TemplateKind::kLater}) {
    std::string text, expected;
    for (const PromptField& field : fields_of(kind)) {
      text += "{" + field.name + "} ";
      expected += "<" + field.name + "> ";
    }
    EXPECT_EQ(filled(text, kind), expected);
  }
}

TEST(PromptTemplate, DoubledBracesAreBraces) {
  EXPECT_EQ(filled("{{}} {{problem}} {{{problem}}} }}{{"), "{} {problem} {<problem>} }{");
}

TEST(PromptTemplate, WhatIsPutInIsNotReadForFields) {
  const PromptTemplate text(TemplateKind::kFirst, "{problem}|{signature}", "words.txt");
  PromptFields all = fields(TemplateKind::kFirst);
  all["problem"] = "f'{signature}' {{x}} {";
  all["signature"] = "}{problem}";
  EXPECT_EQ(text.fill(all), "f'{signature}' {{x}} {|}{problem}");
}

TEST(PromptTemplate, OneLineEndBehindTheTextIsLeftOut) {
  EXPECT_EQ(filled("{problem}\n"), "<problem>");
  EXPECT_EQ(filled("{problem}\r\n"), "<problem>");
  EXPECT_EQ(filled("{problem}\n\n"), "<problem>\n");
}

TEST(PromptTemplate, AnUnknownFieldIsNamedWithFileAndLineAndTheNearest) {
  const std::string why = refused("{problem}\n\nIn {langage}:\n{nothing_like_it}");
  EXPECT_THAT(why, HasSubstr("words.txt:3: {langage} is no field; did you mean language?"));
  EXPECT_THAT(why, HasSubstr("words.txt:4: {nothing_like_it} is no field; there are {problem}, {signature}"));
  EXPECT_THAT(refused("{problem} {verdict}"),
              HasSubstr("words.txt:1: {verdict} is known in rollout.prompt.later alone"));
  EXPECT_THAT(refused("You know {history}.", TemplateKind::kSystem), HasSubstr("rollout.prompt.later alone"));
}

TEST(PromptTemplate, ALonelyBraceIsNamedWithTheWayOut) {
  EXPECT_THAT(refused("{problem}\nint f() {\n}"), HasSubstr("words.txt:2: a brace opens no field; write {{"));
  EXPECT_THAT(refused("{problem}\nint f() {\n}"),
              HasSubstr("words.txt:3: a brace closes no field; write }}"));
  EXPECT_THAT(refused("{problem} {"), HasSubstr("opens no field"));
  EXPECT_THAT(refused("{problem} {}"), HasSubstr("{} is no field"));
}

TEST(PromptTemplate, WhatAPolicyCannotDoWithoutMustBeThere) {
  EXPECT_THAT(refused("Write {signature}."), HasSubstr("words.txt: has no {problem}"));
  EXPECT_THAT(refused("Try again: {signature} {problem}", TemplateKind::kLater),
              HasSubstr("has no {verdict}"));
  EXPECT_EQ(refused("{question} Think."), "");
  EXPECT_EQ(refused("{question} Think.", TemplateKind::kLater), "");
  EXPECT_EQ(refused("You write kernels.", TemplateKind::kSystem), "");
}

TEST(PromptTemplate, WhatIsNoTextIsRefused) {
  EXPECT_THAT(refused(""), HasSubstr("words.txt: is empty"));
  EXPECT_THAT(refused(" \n\t\n"), HasSubstr("is empty"));
  EXPECT_THAT(refused("{problem}\n\xff"), HasSubstr("is no UTF-8 in line 2"));
  EXPECT_THAT(refused(std::string("{problem}\n\n\0", 12)), HasSubstr("holds a NUL in line 3"));
  EXPECT_THAT(refused("\xef\xbb\xbf{problem}"), HasSubstr("byte order mark"));
  EXPECT_EQ(refused("{problem}" + std::string(kMaxTemplateBytes - 9, 'a')), "");
  EXPECT_THAT(refused("{problem}" + std::string(kMaxTemplateBytes, 'a')),
              HasSubstr("at most 65536 are read"));
}

TEST(PromptTemplate, AFileIsNamedInWhatIsWrongWithIt) {
  const policy::TokenizerDir dir;
  const std::string file = (dir.path / "first.txt").string();
  write_file(file, "{problem}\n{x}");
  try {
    PromptTemplate::read(TemplateKind::kFirst, file);
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr(file + ":2: {x} is no field"));
  }
  EXPECT_THROW(PromptTemplate::read(TemplateKind::kFirst, file + ".none"), ConfigError);
  EXPECT_THROW(PromptTemplate::read(TemplateKind::kFirst, dir.path.string()), ConfigError);
  write_file(file, std::string(kMaxTemplateBytes + 1, 'a'));
  EXPECT_THROW(PromptTemplate::read(TemplateKind::kFirst, file), ConfigError);
}

}  // namespace
}  // namespace temper::rollout
