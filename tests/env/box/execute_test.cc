#include "env/box/execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace temper::env {
namespace {

TEST(Execute, CandidatesDoNotInheritTheJobsSecret) {
  ::setenv("TEMPER_SECRET", "of this job", 1);
  ::setenv("TEMPER_OTHER", "told", 1);
  const std::vector<std::string> environment = environment_with({"MORE=1"});
  EXPECT_THAT(environment, testing::Contains("TEMPER_OTHER=told"));
  EXPECT_THAT(environment, testing::Contains("MORE=1"));
  EXPECT_THAT(environment, testing::Not(testing::Contains(testing::HasSubstr("of this job"))));
  ::unsetenv("TEMPER_SECRET");
  ::unsetenv("TEMPER_OTHER");
}

}  // namespace
}  // namespace temper::env
