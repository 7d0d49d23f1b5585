#include "trainer/evaluate/score.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/fixtures.h"

namespace temper::trainer {

using env::Verdict;
using env::VerdictKind;

namespace {

Score score_of(const std::vector<Verdict>& verdicts) {
  std::vector<const Verdict*> pointers;
  for (const Verdict& verdict : verdicts) pointers.push_back(&verdict);
  RewardOptions reward;
  reward.name = "kevin";
  return score(reward, pointers);
}

TEST(Score, CountsSharesOverWhatWasJudged) {
  const Score s = score_of({passed(0.5), passed(2), passed(1.3), failed(), failed(VerdictKind::kHack),
                            failed(VerdictKind::kInfra)});
  EXPECT_EQ(s.samples, 5);
  EXPECT_EQ(s.infra, 1);
  EXPECT_EQ(s.hacks, 1);
  EXPECT_DOUBLE_EQ(s.correct, 0.6);
  EXPECT_DOUBLE_EQ(s.fast[0], 0.6);
  EXPECT_DOUBLE_EQ(s.fast[1], 0.4);  // 2 and 1.3
  EXPECT_DOUBLE_EQ(s.fast[2], 0.4);
  EXPECT_DOUBLE_EQ(s.fast[3], 0.2);
  EXPECT_DOUBLE_EQ(s.fast[4], 0);                     // strictly more than 2×
  EXPECT_DOUBLE_EQ(s.reward, (0.8 + 2.3 + 1.6) / 5);  // 0.3 + s, or 0
  EXPECT_NEAR(s.speedup, std::cbrt(0.5 * 2 * 1.3), 1e-12);
}

TEST(Score, FastIsWhatIsSurelyFast) {
  Verdict verdict = passed(1.6);
  verdict.speedup_low = 1.1;
  verdict.speedup_compiled = 1.2;
  const Score sure = score({}, {&verdict}), center = score({.lower_end = false}, {&verdict});
  EXPECT_EQ(sure.fast[1], 1);
  EXPECT_EQ(sure.fast[2], 0);  // 1.1 is not above 1.2
  EXPECT_EQ(sure.fast_compiled, 0);
  EXPECT_EQ(center.fast[3], 1);
  EXPECT_EQ(center.fast[4], 0);
  EXPECT_EQ(center.fast_compiled, 1);
  EXPECT_DOUBLE_EQ(sure.speedup, 1.6);
}

// CUDA Agent pays a failure −1; an answer that could not be judged earns nothing at all.
TEST(Score, TheBestTurnIsARightOneAndInfraOnlyWhereNothingElseIs) {
  const auto best = [](const RewardOptions& options, const std::vector<Verdict>& verdicts) {
    const rollout::Trajectory trajectory = make_trajectory(verdicts);
    return &best_turn(options, trajectory) - trajectory.turns.data();
  };
  const Verdict infra = failed(VerdictKind::kInfra);
  const RewardOptions agent = {.name = "cuda_agent"};
  EXPECT_EQ(best(agent, {infra, failed(), infra}), 1);
  EXPECT_EQ(best(agent, {infra, failed(), passed(0.5), passed(2), passed(2)}), 3);
  EXPECT_EQ(best(agent, {infra, infra}), 0);
  // A reward that no configuration may have: still the right answer is the better one.
  EXPECT_EQ(best({.name = "log_speedup", .log_floor = -9}, {failed(), passed(1e-4)}), 1);
  EXPECT_EQ(best({.name = "kevin"}, {failed(), failed()}), 0);
}

TEST(Score, RawIsWhatComparingOutputsAloneWouldSay) {
  Verdict floor = failed(VerdictKind::kSuspect);
  floor.speedup = 90;
  const Score s = score_of({passed(1.5), floor, failed(), failed(VerdictKind::kHack)});
  EXPECT_DOUBLE_EQ(s.correct, 0.25);
  EXPECT_DOUBLE_EQ(s.raw_correct, 0.75);
  EXPECT_DOUBLE_EQ(s.fast[4], 0);
  EXPECT_DOUBLE_EQ(s.raw_fast[4], 0.25);
}

TEST(Score, RawIsTheNaiveJudgesWordWhereItWasAsked) {
  std::vector<Verdict> verdicts{passed(1.5), failed(), failed(), failed(VerdictKind::kHack)};
  for (Verdict& verdict : verdicts) verdict.naive = {.pass = true, .speedup = 3, .binding = true};
  verdicts[2].naive->pass = false;
  const Score s = score_of(verdicts);
  EXPECT_DOUBLE_EQ(s.correct, 0.25);
  EXPECT_DOUBLE_EQ(s.raw_correct, 0.75);
  EXPECT_EQ(s.hacks, 2);
  EXPECT_DOUBLE_EQ(s.fast[4], 0);
  EXPECT_DOUBLE_EQ(s.raw_fast[4], 0.75);
  EXPECT_DOUBLE_EQ(s.reward, (0.3 + 1.5) / 4);  // the full judge's
}

TEST(Score, FastAgainstTorchCompileIsAShareOfAllWhereItIsKnown) {
  std::vector<Verdict> verdicts{passed(2), passed(1.5), passed(3), failed(), failed(VerdictKind::kSuspect)};
  verdicts[0].speedup_compiled = 1.2;
  verdicts[1].speedup_compiled = 0.9;
  verdicts[4].speedup_compiled = 70;
  const Score s = score_of(verdicts);
  EXPECT_EQ(s.compiled, 3);
  EXPECT_DOUBLE_EQ(s.fast_compiled, 0.2);
  Metrics known, unknown;
  add_metrics("env", s, known);
  EXPECT_DOUBLE_EQ(known.at("env/fast_1_compiled"), 0.2);
  add_metrics("env", score_of({passed(2)}), unknown);
  EXPECT_FALSE(unknown.contains("env/fast_1_compiled"));
}

TEST(Score, LazyIsARightAnswerWhoseOwnKernelsTakeLittleOfTheTime) {
  std::vector<Verdict> verdicts{passed(2), passed(1.1), passed(1), passed(3), failed()};
  verdicts[0].profile_share = 0.9;
  verdicts[1].profile_share = 0.29;
  verdicts[2].profile_share = 0.31;  // the fourth has no profile, and the fifth is not right
  verdicts[4].profile_share = 0.1;
  const Score s = score_of(verdicts);
  EXPECT_EQ(s.profiled, 3);
  EXPECT_DOUBLE_EQ(s.lazy, 1.0 / 3);
  EXPECT_DOUBLE_EQ(s.own_share, 0.5);
  Metrics known, unknown;
  add_metrics("env", s, known);
  EXPECT_DOUBLE_EQ(known.at("env/lazy"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(known.at("env/own_share"), 0.5);
  add_metrics("env", score_of({passed(2)}), unknown);
  EXPECT_FALSE(unknown.contains("env/lazy"));
  EXPECT_FALSE(unknown.contains("env/own_share"));
}

TEST(PassAt, IsTheUnbiasedEstimate) {
  EXPECT_DOUBLE_EQ(pass_at(1, 4, 1), 0.25);
  EXPECT_DOUBLE_EQ(pass_at(2, 4, 1), 0.5);
  EXPECT_NEAR(pass_at(2, 5, 2), 1 - 3.0 / 10, 1e-15);  // 1 − C(3, 2) / C(5, 2)
  EXPECT_DOUBLE_EQ(pass_at(3, 4, 2), 1);
  EXPECT_DOUBLE_EQ(pass_at(4, 4, 0), 0);
}

TEST(Score, OfNothingIsZero) {
  const Score s = score_of({failed(VerdictKind::kInfra)});
  EXPECT_EQ(s.samples, 0);
  EXPECT_EQ(s.correct, 0);
  EXPECT_EQ(s.speedup, 0);
}

TEST(Score, NamesItsMetrics) {
  Metrics metrics;
  add_metrics("env", score_of({passed(1.3), failed(VerdictKind::kInfra)}), metrics);
  EXPECT_EQ(metrics.at("env/correct"), 1);
  EXPECT_EQ(metrics.at("env/fast_1.2"), 1);
  EXPECT_EQ(metrics.at("env/fast_1.5"), 0);
  EXPECT_EQ(metrics.at("env/infra"), 0.5);
}

}  // namespace
}  // namespace temper::trainer
