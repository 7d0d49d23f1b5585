#include "trainer/app/rank_identity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "trainer/config/config.h"

namespace temper::trainer {
namespace {

TEST(RankIdentity, FindsTheFirstDifference) {
  const RankIdentity first = {{"the program", "a"}, {"option run.steps", " 2"}, {"option run.seed", " 1"}};
  EXPECT_FALSE(find_difference(first, first));
  RankIdentity other = first;
  other[1].second = " 3";
  other[2].second = " 4";
  const auto difference = find_difference(first, other);
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->what, "option run.steps");
  EXPECT_EQ(difference->first, " 2");
  EXPECT_EQ(difference->other, " 3");
}

TEST(RankIdentity, FindsWhatOnlyOneSideHas) {
  const RankIdentity less = {{"the program", "a"}}, more = {{"the program", "a"}, {"the variable X", "1"}};
  EXPECT_EQ(find_difference(less, more)->other, "1");
  EXPECT_EQ(find_difference(more, less)->first, "1");
}

TEST(RankIdentity, TellsNoSecret) {
  ::setenv("TEMPER_SECRET", "of this job", 1);
  ::setenv("TEMPER_SECRET_FILE", "/a/file", 1);
  ::setenv("TEMPER_OTHER", "told", 1);
  bool other = false;
  for (const auto& [what, value] : identity_of(read_config("", {}))) {
    EXPECT_EQ(what.find("TEMPER_SECRET"), std::string::npos);
    EXPECT_EQ(value.find("of this job"), std::string::npos);
    other = other || what.find("TEMPER_OTHER") != std::string::npos;
  }
  EXPECT_TRUE(other);
  for (const char* name : {"TEMPER_SECRET", "TEMPER_SECRET_FILE", "TEMPER_OTHER"}) ::unsetenv(name);
}

TEST(RankIdentity, HoldsTheLibrariesThatCompute) {
  const RankIdentity identity = identity_of(read_config("", {}));
  const auto is_torch = [](const auto& one) { return one.first.starts_with("the library libtorch_cpu"); };
  EXPECT_EQ(std::ranges::count_if(identity, is_torch), 1);
}

TEST(RankIdentity, HoldsEveryOption) {
  const RunConfig one = read_config("", {});
  EXPECT_FALSE(find_difference(identity_of(one), identity_of(read_config("", {}))));
  for (const char* change :
       {"run.seed=7", "loss.clip_high=0.5", "cold_start.optimizer.lr=1", "optimizer.lr=1"}) {
    const std::string word = change;
    const auto difference = find_difference(identity_of(one), identity_of(read_config("", {word})));
    ASSERT_TRUE(difference) << word;
  }
}

}  // namespace
}  // namespace temper::trainer
