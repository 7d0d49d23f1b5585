#include "env/answer.h"

#include <gtest/gtest.h>

namespace temper {
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
  EXPECT_EQ(extract_code("```\nint x;\n```\n```\nint y;\n```\n").reason, "two_code_blocks");
}

TEST(Answer, TheSameBlockTwiceCountsOnce) {
  const std::string block = "```cpp\nint x;\n```\n";
  const Answer answer = extract_code(block + "again\n" + block);
  ASSERT_TRUE(answer.ok);
  EXPECT_EQ(answer.code_begin, block.size() + 6);
}

TEST(Answer, AFenceInsideALineOfCodeDoesNotCloseTheBlock) {
  EXPECT_EQ(extract_code("```\n// ``` x\nint x;\n```\n").code, "// ``` x\nint x;\n");
}

}  // namespace
}  // namespace temper
