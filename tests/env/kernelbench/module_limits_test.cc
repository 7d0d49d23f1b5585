#include "env/kernelbench/module_limits.h"

#include <gmock/gmock.h>

namespace temper::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(ModuleLimits, FollowWhatTheReferenceTakes) {
  const ModuleLimits quick =
      module_limits(seconds(180), seconds(30), {.build = milliseconds(20), .call = milliseconds(1)});
  EXPECT_EQ(quick.whole, seconds(180));
  EXPECT_EQ(quick.warm_up, seconds(30));
  EXPECT_EQ(quick.call, seconds(5));
  const ModuleLimits slow =
      module_limits(seconds(180), seconds(30), {.build = seconds(20), .call = milliseconds(400)});
  EXPECT_EQ(slow.warm_up, seconds(60));
  EXPECT_EQ(slow.call, seconds(40));
  // A first call may take as long as another.
  EXPECT_EQ(module_limits(seconds(180), seconds(1), {}).warm_up, seconds(5));
}

TEST(ModuleLimits, SayWhichStepTookTooLong) {
  const ModuleLimits limits{.whole = seconds(180), .warm_up = seconds(30), .call = seconds(5)};
  const auto bound = [&](ModuleStep step, nanoseconds left = seconds(180), nanoseconds expected = {}) {
    return bound_of(limits, step, left, expected);
  };
  EXPECT_EQ(bound(ModuleStep::kBuild).time, seconds(30));
  EXPECT_EQ(bound(ModuleStep::kFirstCall).time, seconds(30));
  EXPECT_THAT(bound(ModuleStep::kFirstCall).words,
              HasSubstr("took more than 30 s in its first call of forward; compile less"));
  EXPECT_EQ(bound(ModuleStep::kCall).time, seconds(5));
  EXPECT_EQ(bound(ModuleStep::kBetween).time, seconds(5));
  EXPECT_EQ(bound(ModuleStep::kWeights).time, seconds(5));
  EXPECT_EQ(bound(ModuleStep::kTimes, seconds(180), seconds(10)).time, seconds(60));
  EXPECT_EQ(bound(ModuleStep::kProfile).time, seconds(30));
}

TEST(ModuleLimits, TakeAllStepsFromOneBudget) {
  const ModuleLimits limits{.whole = seconds(180), .warm_up = seconds(30), .call = seconds(5)};
  const ModuleBound little = bound_of(limits, ModuleStep::kCall, seconds(2));
  EXPECT_EQ(little.time, seconds(2));
  EXPECT_THAT(little.words, HasSubstr("more than 180 s in all"));
  EXPECT_EQ(bound_of(limits, ModuleStep::kBuild, seconds(-1)).time, nanoseconds(0));
}

}  // namespace
}  // namespace temper::env
