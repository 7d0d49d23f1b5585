#include "trainer/run/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace temper::trainer {
namespace {

TEST(Console, AnswersThatCouldNotBeJudgedAreSaidWhereThereAreSome) {
  const auto line_of = [](double infra) {
    testing::internal::CaptureStdout();
    say_step(3, 40, {{"env/correct", 0.5}, {"env/infra", infra}});
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_THAT(line_of(0.25), testing::HasSubstr("fast_1 0.0 %  INFRA 25.0 %  "));
  EXPECT_THAT(line_of(0), testing::AllOf(testing::HasSubstr("correct 50.0 %"),
                                         testing::Not(testing::HasSubstr("INFRA"))));
}

TEST(Console, ALineLeavesOutWhatANarrowTerminalHasNoRoomFor) {
  const std::vector<LinePart> parts = {{"step 1"}, {"3.50×", 2}, {""}, {"kl", 3}, {"9 s left", 1}};
  EXPECT_EQ(fitting(parts, 80), "step 1  3.50×  kl  9 s left");
  EXPECT_EQ(fitting(parts, 26), "step 1  3.50×  9 s left");
  EXPECT_EQ(fitting(parts, 23), "step 1  3.50×  9 s left");
  EXPECT_EQ(fitting(parts, 22), "step 1  9 s left");
  EXPECT_EQ(fitting(parts, 1), "step 1");
}

TEST(Console, AStepSaysHowLongTheOthersTake) {
  const auto line_of = [](double left_s) {
    testing::internal::CaptureStdout();
    say_step(3, 40, {}, left_s);
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_THAT(line_of(0), testing::Not(testing::HasSubstr("left")));
  EXPECT_THAT(line_of(89), testing::HasSubstr("  89 s left"));
  EXPECT_THAT(line_of(725), testing::HasSubstr("  12 min left"));
  EXPECT_THAT(line_of(11100), testing::HasSubstr("  3 h 5 min left"));
}

}  // namespace
}  // namespace temper::trainer
