#include "env/verdict/answer.h"

#include <gtest/gtest.h>

namespace temper::env {
namespace {

TEST(Answer, TakesTheCodeBetweenTheFences) {
  const std::string text = "plan: one pass\n```cpp\nint x;\n\nint y;\n```\nbye";
  const Answer answer = extract_code(text);
  ASSERT_TRUE(answer.ok) << answer.reason;
  EXPECT_EQ(answer.code, "int x;\n\nint y;\n");
  EXPECT_EQ(text.substr(answer.code_begin, answer.code_end - answer.code_begin),
            "```cpp\nint x;\n\nint y;\n```\n");
}

TEST(Answer, LanguageWordCarriageReturnAndLastLineAreOptional) {
  EXPECT_EQ(extract_code("```\nint x;\n```").code, "int x;\n");
  EXPECT_EQ(extract_code("```c++\r\nint x;\r\n```\r\n").code, "int x;\r\n");
}

TEST(Answer, SaysWhyThereIsNoCode) {
  EXPECT_EQ(extract_code("").reason, "no_code_block");
  EXPECT_EQ(extract_code("int x;").reason, "no_code_block");
  EXPECT_EQ(extract_code("use ``` here and ``` there").reason, "no_code_block");
  EXPECT_EQ(extract_code("```cpp\nint x;\n").reason, "unclosed_code_block");
  EXPECT_EQ(extract_code("```cpp\nint x;\n``` and more").reason, "unclosed_code_block");
  EXPECT_EQ(extract_code("```cpp\n \n```").reason, "empty_code_block");
}

TEST(Answer, TheLastBlockCounts) {
  const std::string block = "```cpp\nint x;\n```\n";
  const Answer answer = extract_code("```\nint y;\n```\nbetter\n" + block);
  ASSERT_TRUE(answer.ok);
  EXPECT_EQ(answer.code, "int x;\n");
  EXPECT_EQ(answer.code_begin, 22u);
  EXPECT_EQ(answer.code_end, 22u + block.size());
  EXPECT_EQ(extract_code(block + "```cpp\nint z;\n").reason, "unclosed_code_block");
  EXPECT_EQ(extract_code(block + "```\n```\n").reason, "empty_code_block");
}

TEST(Answer, WhatStandsInReasoningIsNoAnswer) {
  const std::string draft = "```cpp\nint draft;\n```\n", block = "```cpp\nint x;\n```\n";
  const std::string thoughts = "<think>\nfirst\n" + draft + "```\nnot closed\n</think>\n\n";
  const Answer answer = extract_code(thoughts + block);
  ASSERT_TRUE(answer.ok) << answer.reason;
  EXPECT_EQ(answer.code, "int x;\n");
  EXPECT_EQ(answer.code_begin, thoughts.size());
  EXPECT_EQ(answer.code_end, thoughts.size() + block.size());
  EXPECT_EQ(extract_code("<think>\n" + draft + "</think>\nno code").reason, "no_code_block");
  EXPECT_EQ(extract_code("a</think>b\n" + draft + "</think>" + block).code, "int x;\n");
}

TEST(Answer, ReasoningThatNeverClosesIsNoAnswer) {
  const std::string block = "```cpp\nint x;\n```\n";
  EXPECT_EQ(extract_code("<think>\n" + block).reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code("<think>").reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code("<think>a</think>\n" + block + "<think> wait").reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code("<think> ```\n" + block).reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code(block, true).reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code("", true).reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code("so\n</think>\n" + block, true).code, "int x;\n");
  EXPECT_EQ(extract_code("so\n</think>\n" + block).code, "int x;\n");
  EXPECT_EQ(extract_code("```\n// <think>\nint x;\n```\n").code, "// <think>\nint x;\n");
}

TEST(Answer, FencesAreCommonMarks) {
  EXPECT_EQ(extract_code("~~~cpp\nint x;\n```\n~~~").code, "int x;\n```\n");
  EXPECT_EQ(extract_code("````\n```\nint x;\n```\n`````  \n").code, "```\nint x;\n```\n");
  EXPECT_EQ(extract_code("```cpp fast version\nint x;\n```").code, "int x;\n");
  EXPECT_EQ(extract_code("~~~ cpp `really`\nint x;\n~~~").code, "int x;\n");
  EXPECT_EQ(extract_code("``` `cpp`\nint x;\n").reason, "no_code_block");
  EXPECT_EQ(extract_code("``\nint x;\n``\n").reason, "no_code_block");
  EXPECT_EQ(extract_code("~~~\nint x;\n~~\n").reason, "unclosed_code_block");
  EXPECT_EQ(extract_code("    ```\nint x;\n    ```\n").reason, "no_code_block");
  EXPECT_EQ(extract_code("\t```\nint x;\n").reason, "no_code_block");
  EXPECT_EQ(extract_code("```\nint x;\n    ```\n").reason, "unclosed_code_block");
}

TEST(Answer, CodeLosesTheIndentOfItsFence) {
  const std::string text = "1. So:\n   ```cpp\n   int x;\n     int y;\n int z;\n\n ```\n";
  const Answer answer = extract_code(text);
  ASSERT_TRUE(answer.ok) << answer.reason;
  EXPECT_EQ(answer.code, "int x;\n  int y;\nint z;\n\n");
  EXPECT_EQ(answer.code_begin, 7u);
  EXPECT_EQ(answer.code_end, text.size());
}

// What takes time by the square of its length would take hours.
TEST(Answer, LongTextsAreReadOnce) {
  std::string fences, thoughts, line = "```\n";
  for (int i = 0; i < 2'000'000; ++i) {
    fences += i % 2 == 0 ? "```\nx\n" : "```\n";
    thoughts += "</think";
    line += "`~<";
  }
  EXPECT_EQ(extract_code(fences).code, "x\n");
  EXPECT_EQ(extract_code(fences + "```").reason, "unclosed_code_block");
  EXPECT_EQ(extract_code(thoughts).reason, "no_code_block");
  EXPECT_EQ(extract_code(thoughts + "<think>").reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code(line + std::string(4'000'000, '`')).reason, "unclosed_code_block");
  EXPECT_EQ(extract_code(std::string(8'000'000, '\n') + "```\nx\n```").code, "x\n");
}

TEST(Answer, AFenceInsideALineOfCodeDoesNotCloseTheBlock) {
  EXPECT_EQ(extract_code("```\n// ``` x\nint x;\n```\n").code, "// ``` x\nint x;\n");
}

}  // namespace
}  // namespace temper::env
