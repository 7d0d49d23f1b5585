#include "policy/communicator/watch_rules.h"

#include <gtest/gtest.h>

namespace temper {
namespace {

constexpr WatchOptions kOptions = {.silence_s = 20, .timeout_s = 600, .report_s = 60};
constexpr double kNow = 1000;

// Heard of a second ago.
Watched rank(const char* phase, const char* collective, double moved_s) {
  return {.activity = {phase, 1, collective}, .heard_s = kNow - 1, .moved_s = moved_s};
}

TEST(WatchRules, LeavesRanksAloneThatWorkOrWaitShortly) {
  const std::vector<Watched> ranks = {rank("update", "gradients", kNow - 50), rank("update", "", kNow - 50)};
  EXPECT_FALSE(find_lost(ranks, kNow, kOptions));
  EXPECT_FALSE(find_hung(ranks, kNow, kOptions));
  EXPECT_EQ(waiting_text(ranks, kNow, kOptions), "");
}

TEST(WatchRules, NamesARankWhoseConnectionBroke) {
  std::vector<Watched> ranks = {rank("update", "", kNow), rank("judging", "", kNow)};
  ranks[1].lost = true;
  const auto trouble = find_lost(ranks, kNow, kOptions);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->rank, 1);
  EXPECT_EQ(trouble->what, "was killed or crashed in judging");
  EXPECT_FALSE(trouble->alive);
  ranks[1].left = true;
  EXPECT_FALSE(find_lost(ranks, kNow, kOptions));
}

TEST(WatchRules, NamesARankThatIsSilent) {
  std::vector<Watched> ranks = {rank("update", "", kNow), rank("rollout", "", kNow)};
  ranks[1].heard_s = kNow - 21;
  const auto trouble = find_lost(ranks, kNow, kOptions);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->rank, 1);
  EXPECT_TRUE(trouble->alive);
}

TEST(WatchRules, TellsAHungRankFromASlowOne) {
  std::vector<Watched> ranks = {rank("rollout", "trajectories", kNow - 700), rank("rollout", "", kNow - 601)};
  const auto trouble = find_hung(ranks, kNow, kOptions);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->rank, 1);
  EXPECT_EQ(trouble->what,
            "hangs in rollout: no progress for 601 s while others wait in the collective \"trajectories\"");
  ranks[1].moved_s = kNow - 5;
  EXPECT_FALSE(find_hung(ranks, kNow, kOptions));
  EXPECT_EQ(waiting_text(ranks, kNow, kOptions), "waiting for rank 1: rollout, 700 s");
}

TEST(WatchRules, DoesNotMindWhatNobodyWaitsFor) {
  const std::vector<Watched> ranks = {rank("rollout", "", kNow - 700), rank("rollout", "", kNow - 700)};
  EXPECT_FALSE(find_hung(ranks, kNow, kOptions));
}

TEST(WatchRules, SeesWhereAllWaitForEachOther) {
  const std::vector<Watched> ranks = {rank("update", "gradients", kNow - 700),
                                      rank("update", "norm", kNow - 650)};
  const auto trouble = find_hung(ranks, kNow, kOptions);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->rank, -1);
}

}  // namespace
}  // namespace temper
