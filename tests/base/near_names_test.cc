#include "base/input/near_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/input/wrapped.h"

namespace temper {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kKnown = {
    "cold_start.optimizer.lr", "optimizer.lr", "run.steps", "run.dir", "env", "train", "trace", "optimizer"};

TEST(NearNames, OneSlipInThreeLetters) {
  EXPECT_THAT(near_names("trian", kKnown), ElementsAre("train")) << "two letters swapped are one slip";
  EXPECT_THAT(near_names("optimiser", kKnown), ElementsAre("optimizer"));
  EXPECT_THAT(near_names("run.stps", kKnown), ElementsAre("run.steps"));
  EXPECT_THAT(near_names("enx", kKnown), ElementsAre("env"));
}

TEST(NearNames, NothingAtAGreatDistance) {
  for (const char* far : {"a", "b", "<<", "run.<<", "xyz", "totally", "", "version_of"})
    EXPECT_THAT(near_names(far, kKnown), IsEmpty()) << far;
  EXPECT_THAT(near_names(std::string(100'000, 'x'), kKnown), IsEmpty());
}

TEST(NearNames, TheLastPartStandsForAll) {
  EXPECT_THAT(near_names("lr", kKnown), ElementsAre("optimizer.lr", "cold_start.optimizer.lr"))
      << "the shorter first";
  EXPECT_THAT(near_names("rollout.steps", kKnown), ElementsAre("run.steps"));
  EXPECT_THAT(near_names("step", kKnown), ElementsAre("run.steps"));
}

TEST(NearNames, APartOfLongerNames) {
  const std::vector<std::string> tasks = {"softmax_scaled", "row_softmax", "softmax", "row_softmax_bias",
                                          "gelu"};
  EXPECT_THAT(near_names("soft", tasks), ElementsAre("softmax", "row_softmax", "softmax_scaled"));
  EXPECT_THAT(near_names("row", tasks), IsEmpty()) << "three letters are in everything";
}

TEST(NearNames, AsASentence) {
  EXPECT_EQ(did_you_mean("lr", kKnown), "; did you mean optimizer.lr or cold_start.optimizer.lr?");
  EXPECT_EQ(did_you_mean("trian", kKnown), "; did you mean train?");
  EXPECT_EQ(did_you_mean("xyz", kKnown), "");
  EXPECT_EQ(nearest_name("xyz", kKnown), "");
}

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("aa bb cc", 5, 0), "aa bb\ncc");
  EXPECT_EQ(wrapped("aa bb cc", 7, 2), "  aa bb\n  cc");
  EXPECT_EQ(wrapped("aa bb", 7, 2, 5), "aa\n  bb") << "the first line has begun";
  EXPECT_EQ(wrapped("aaaaaaaa b", 4, 0), "aaaaaaaa\nb") << "a word is never cut";
  EXPECT_EQ(wrapped("äöü ä", 5, 0), "äöü ä") << "characters, not bytes";
  EXPECT_EQ(wrapped("a\n\nb", 9, 0), "a\n\nb");
  EXPECT_EQ(wrapped("", 9, 3), "   ");
}

}  // namespace
}  // namespace temper
