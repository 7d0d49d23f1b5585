#include "trainer/algorithm/rejection.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/fixtures.h"

namespace temper::trainer {

using env::Verdict;
using rollout::Batch;

namespace {

Batch one_group(std::vector<rollout::Trajectory> samples) {
  Batch batch;
  batch.groups = {{.task = "t", .samples = std::move(samples)}};
  return batch;
}

TurnValues all_kept(const Batch& batch) {
  TurnValues returns(1);
  for (const rollout::Trajectory& sample : batch.groups[0].samples)
    returns[0].push_back(SampleValues(sample.turns.size()));
  return returns;
}

TEST(Rejection, MismatchWindowIsOverTheGeometricMean) {
  // Three response tokens (at 2, 3, 4) sampled at −1.
  const Batch batch = one_group({make_trajectory({passed(1)}), make_trajectory({passed(1)}),
                                 make_trajectory({passed(1)}), make_trajectory({passed(1)})});
  const std::vector<std::vector<float>> train = {
      {0, 0, -1.3f, -0.7f, -1},  // mean difference 0: kept
      {0, 0, -1, -1, -0.9955f},  // 0.0045 / 3 = 0.0015: exp is 1.0015, rejected
      {0, 0, -1, -1, -1.0045f},  // 0.9985, rejected
      {9, 9, -1, -1, -1.0015f},  // 0.9995; prompt tokens are not looked at: kept
  };
  TurnValues returns = all_kept(batch);
  RejectionStats stats;
  reject_mismatch({}, batch, train, returns, stats);
  EXPECT_TRUE(returns[0][0][0].kept);
  EXPECT_FALSE(returns[0][1][0].kept);
  EXPECT_FALSE(returns[0][2][0].kept);
  EXPECT_TRUE(returns[0][3][0].kept);
  EXPECT_EQ(stats.mismatch, 2);
  EXPECT_EQ(stats.vetoed, 0);
}

TEST(Rejection, OneImpossibleTokenVetoesItsTrajectory) {
  const Batch batch = one_group({make_trajectory({passed(1)}), make_trajectory({passed(1)})});
  // exp(−9.3) = 9.1e-5 < 1e-4 < exp(−9.1) = 1.1e-4; the other tokens bring the mean back to 0.
  const std::vector<std::vector<float>> train = {{0, 0, -10.3f, 8.3f, -1}, {0, 0, -10.1f, 8.1f, -1}};
  TurnValues returns = all_kept(batch);
  RejectionStats stats;
  reject_mismatch({}, batch, train, returns, stats);
  EXPECT_FALSE(returns[0][0][0].kept);
  EXPECT_TRUE(returns[0][1][0].kept);
  EXPECT_EQ(stats.mismatch, 0);
  EXPECT_EQ(stats.vetoed, 1);
}

TEST(Rejection, ANanIsAMismatch) {
  const Batch batch = one_group({make_trajectory({passed(1)})});
  TurnValues returns = all_kept(batch);
  RejectionStats stats;
  reject_mismatch({}, batch, {{0, 0, std::nanf(""), -1, -1}}, returns, stats);
  EXPECT_FALSE(returns[0][0][0].kept);
}

Verdict profiled(double share) {
  Verdict verdict = passed(1);
  verdict.profile_share = share;
  return verdict;
}

// How many of 2,000 turns with each verdict are kept, all in one group.
std::vector<double> kept_shares(const std::string& mode, const std::vector<Verdict>& verdicts) {
  constexpr int kSamples = 2000;
  const Batch batch = one_group(std::vector<rollout::Trajectory>(kSamples, make_trajectory(verdicts)));
  TurnValues returns = all_kept(batch);
  RejectionStats stats;
  reject_profile({.profile = mode}, batch, 7, returns, stats);
  std::vector<double> shares(verdicts.size());
  int64_t kept = 0;
  for (const SampleValues& sample : returns[0])
    for (size_t t = 0; t < sample.size(); ++t) {
      shares[t] += sample[t].kept;
      kept += sample[t].kept;
    }
  EXPECT_EQ(stats.profile, int64_t(kSamples * verdicts.size()) - kept);
  for (double& share : shares) share /= kSamples;
  return shares;
}

TEST(Rejection, ProfileShareDecidesWhatIsKept) {
  const std::vector<Verdict> verdicts = {profiled(0.2), profiled(0.35), profiled(0.5), passed(1), failed()};
  const std::vector<double> shares = kept_shares("positives", verdicts);
  EXPECT_EQ(shares[0], 0);            // (0.2 − 0.3)/0.1 < 0
  EXPECT_NEAR(shares[1], 0.5, 0.05);  // (0.35 − 0.3)/0.1
  EXPECT_EQ(shares[2], 1);
  EXPECT_EQ(shares[3], 1);  // no profile
  EXPECT_EQ(shares[4], 1);
  EXPECT_EQ(kept_shares("off", verdicts), std::vector<double>(5, 1));
}

TEST(Rejection, SymmetricDropsWrongAnswersAtTheMeanRateOfRightOnes) {
  const std::vector<double> shares =
      kept_shares("symmetric", {profiled(0.2), profiled(0.35), profiled(0.5), failed()});
  EXPECT_EQ(shares[0], 0);
  EXPECT_NEAR(shares[3], 0.5, 0.05);  // (0 + 0.5 + 1)/3
}

}  // namespace
}  // namespace temper::trainer
