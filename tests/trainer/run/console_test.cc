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

}  // namespace
}  // namespace temper::trainer
