#include "policy/ranks/watch_rules.h"

#include <gtest/gtest.h>

namespace temper::policy {
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

// What `rank` called, said to rank 0.
void says(Watched& rank, const CallTrace& calls, const std::shared_ptr<const CallTrace>& own) {
  rank.calls = {calls.now()};
  compare_calls(rank, {own});
}

TEST(WatchRules, ARankThatLeavesOutACallIsNamed) {
  const auto own = std::make_shared<CallTrace>();
  CallTrace like, unlike;
  std::vector<Watched> ranks(3);
  const auto call = [](CallTrace& trace, const char* what) { trace.add("all-reduce", what, 1, "f64"); };
  for (CallTrace* trace : {own.get(), &like, &unlike}) call(*trace, "loss");
  for (CallTrace* trace : {own.get(), &like}) call(*trace, "norm");
  for (CallTrace* trace : {own.get(), &like, &unlike}) call(*trace, "clock");
  says(ranks[1], unlike, own);
  says(ranks[2], like, own);
  EXPECT_EQ(
      ranks[1].differs,
      "its call 2 is the all-reduce \"clock\" of 1 × f64, that of rank 0 the all-reduce \"norm\" of 1 × f64");
  EXPECT_EQ(ranks[2].differs, "");
  EXPECT_EQ(find_differing(ranks)->rank, 1);
  says(ranks[2], unlike, own);
  EXPECT_EQ(find_differing(ranks)->rank, 0);
}

TEST(WatchRules, CallsOfOtherShapesAndFurtherOnAreToldApart) {
  const auto own = std::make_shared<CallTrace>();
  CallTrace ahead, shape;
  own->add("all-reduce", "loss", 5, "f32");
  for (int i = 0; i < 2; ++i) ahead.add("all-reduce", "loss", 5, "f32");
  shape.add("all-reduce", "loss", 6, "f32");
  Watched rank;
  says(rank, ahead, own);  // rank 0 will come there
  EXPECT_EQ(rank.differs, "");
  own->add("all-reduce", "loss", 5, "f32");
  compare_calls(rank, {own});
  EXPECT_EQ(rank.differs, "");
  says(rank, shape, own);
  EXPECT_EQ(
      rank.differs,
      "its call 1 is the all-reduce \"loss\" of 6 × f32, that of rank 0 the all-reduce \"loss\" of 5 × f32");
}

TEST(WatchRules, AnEarlierCallCountsWhereTheLastIsTheSame) {
  const auto own = std::make_shared<CallTrace>();
  CallTrace other;
  own->add("all-reduce", "a", 1, "f64");
  other.add("all-reduce", "b", 1, "f64");
  for (int i = 0; i < 20'000; ++i)  // further back than is kept
    for (CallTrace* trace : {own.get(), &other}) trace->add("all-reduce", "c", 1, "f64");
  Watched rank;
  says(rank, other, own);
  EXPECT_EQ(rank.differs,
            "of 20001 calls, the last of which is the all-reduce \"c\" of 1 × f64, one before it is another");
  EXPECT_FALSE(own->after(1));
}

// `calls` of them, the last of which is "norm".
std::vector<CallTrace::Point> made(uint64_t calls) {
  return {{calls, calls, "all-reduce \"norm\" of 1 × f64"}};
}

TEST(WatchRules, WhoWaitsInWhichCallIsSaid) {
  std::vector<Watched> ranks = {rank("update", "norm", kNow - 700), rank("rollout", "", kNow - 700),
                                rank("update", "norm", kNow - 700)};
  ranks[0].calls = ranks[2].calls = made(8);
  ranks[1].calls = made(7);
  EXPECT_EQ(
      find_hung(ranks, kNow, kOptions)->what,
      "hangs in rollout: no progress for 700 s while others wait in the collective \"norm\": ranks 0 and "
      "2 wait in call 8, the all-reduce \"norm\" of 1 × f64");
  ranks[1].activity.collective = "clock";
  ranks[1].moved_s = kNow - 650;
  const auto all = find_hung(ranks, kNow, kOptions);
  EXPECT_EQ(all->rank, -1);
  EXPECT_NE(all->what.find("rank 1 waits in call 7"), std::string::npos) << all->what;
}

TEST(WatchRules, ARankThatLeftWithoutTheLastCallIsNamedAtOnce) {
  std::vector<Watched> ranks = {rank("update", "norm", kNow), rank("update", "", kNow)};
  ranks[0].calls = made(8);
  ranks[1].calls = made(8);
  ranks[1].left = true;
  EXPECT_FALSE(find_left_out(ranks));  // the other one has only not come out of it yet
  ranks[1].calls = made(7);
  const auto trouble = find_left_out(ranks);
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->rank, 1);
  EXPECT_EQ(
      trouble->what,
      "has come to its end and left out a collective call: rank 0 waits in call 8, the all-reduce \"norm\" "
      "of 1 × f64");
  ranks[1].left = false;
  EXPECT_FALSE(find_left_out(ranks));
}

}  // namespace
}  // namespace temper::policy
