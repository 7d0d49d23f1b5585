#include "base/progress.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace temper {
namespace {

// Tests run without a terminal.
std::string printed(double log_every_s) {
  testing::internal::CaptureStderr();
  {
    Progress progress("judging", 3, log_every_s);
    for (int i = 0; i < 3; ++i) progress.add();
  }
  return testing::internal::GetCapturedStderr();
}

TEST(Progress, WritesLinesIntoALogAsTimePasses) {
  const std::string often = printed(0), seldom = printed(1000);
  EXPECT_EQ(std::ranges::count(often, '\n'), 4) << often;
  EXPECT_NE(often.find(" 1/3 "), std::string::npos) << often;
  EXPECT_EQ(std::ranges::count(seldom, '\n'), 1) << seldom;
  EXPECT_NE(seldom.find(" 3/3 "), std::string::npos) << seldom;
}

}  // namespace
}  // namespace temper
