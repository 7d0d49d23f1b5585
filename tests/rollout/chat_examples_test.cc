#include "rollout/chat_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace temper::rollout {
namespace {

// That such lines read back is tested where they are read (tests/trainer/cold_start/conversations_test.cc).
TEST(ChatExamples, AreWrittenAsALine) {
  const ChatExample example{
      .messages = {{"user", "\"a\"\n"}, {"assistant", "b"}, {"user", "ü"}, {"assistant", "c", 0.5}},
      .task = "add",
      .speedup = 1.5,
      .seed = 3};
  EXPECT_EQ(
      to_line(example),
      R"({"messages":[{"role":"user","content":"\"a\"\n"},{"role":"assistant","content":"b","train":false},)"
      R"({"role":"user","content":"ü"},{"role":"assistant","content":"c","weight":0.5}],)"
      R"("task":"add","speedup":1.5,"seed":3})");
}

TEST(IsUtf8, WhatJsonCanHold) {
  EXPECT_TRUE(is_utf8("aü漢"));
  EXPECT_FALSE(is_utf8("a\xff"));
  EXPECT_FALSE(is_utf8("\xc3"));
}

}  // namespace
}  // namespace temper::rollout
