#include "trainer/run/lost_bytes.h"

#include <gtest/gtest.h>

#include "tests/policy/text/small_tokenizer_json.h"

namespace temper::trainer {
namespace {

std::string said(const LostBytes& lost) {
  testing::internal::CaptureStdout();
  lost.say("the prompts");
  return testing::internal::GetCapturedStdout();
}

TEST(LostBytes, AreSaidOnceAProcessAndOnlyThoseOfTheTextsAtHand) {
  auto json = policy::small_tokenizer_json();
  json["model"]["vocab"].erase("z");
  json["model"]["vocab"][policy::spelled(0xFF) + policy::spelled(0xFF)] = int('z');
  const policy::Tokenizer tokenizer = policy::Tokenizer::read({{"tokenizer.json", json.dump()}}, "folder");
  tokenizer.encode("zz");
  const LostBytes lost(tokenizer);
  EXPECT_EQ(said(lost), "");
  tokenizer.encode("a z");
  EXPECT_NE(said(lost).find("no token for 1 bytes of the prompts"), std::string::npos);
  tokenizer.encode("z");
  EXPECT_EQ(said(lost), "");
}

}  // namespace
}  // namespace temper::trainer
