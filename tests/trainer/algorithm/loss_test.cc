#include "trainer/algorithm/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/trainer/fixtures.h"

namespace temper::trainer {
namespace {

// With π_old = 1 (log 0), so that the ratio is exp(log_prob).
TokenLoss at_ratio(double ratio, double advantage, const LossOptions& options = {}) {
  return token_loss(options, {.advantage = advantage}, std::log(ratio), 0);
}

TEST(Loss, InsideTheWindowItIsTheRatioTimesTheAdvantage) {
  const TokenLoss loss = at_ratio(1.1, 2);
  EXPECT_NEAR(loss.value, -2.2, 1e-12);       // −1.1·2
  EXPECT_NEAR(loss.d_log_prob, -2.2, 1e-12);  // d(r·A)/dlog π = r·A
  EXPECT_FALSE(loss.clipped);
}

TEST(Loss, ClipsHigherThanLower) {
  EXPECT_NEAR(at_ratio(1.27, 1).value, -1.27, 1e-12);
  EXPECT_NEAR(at_ratio(1.5, 1).value, -1.28, 1e-12);  // min(1.5, 1.28)
  EXPECT_TRUE(at_ratio(1.5, 1).clipped);
  EXPECT_EQ(at_ratio(1.5, 1).d_log_prob, 0);
  EXPECT_NEAR(at_ratio(0.5, -1).value, 0.8, 1e-12);  // −min(−0.5, −0.8)
  EXPECT_EQ(at_ratio(0.5, -1).d_log_prob, 0);
  // The pessimistic side is never clipped.
  EXPECT_NEAR(at_ratio(0.5, 1).value, -0.5, 1e-12);
  EXPECT_NEAR(at_ratio(2, -1).value, 2, 1e-12);
  EXPECT_NEAR(at_ratio(2, -1).d_log_prob, 2, 1e-12);
}

TEST(Loss, WhatIsNotANumberHasNoHarmlessGradient) {
  for (const std::string objective : {"clip", "cispo", "likelihood"})
    EXPECT_TRUE(std::isnan(at_ratio(1.1, std::nan(""), {.objective = objective}).d_log_prob)) << objective;
}

TEST(Loss, DualClipBoundsBadAnswersThatBecameLikely) {
  EXPECT_NEAR(at_ratio(5, -2).value, 6, 1e-12);  // −max(−10, 3·−2)
  EXPECT_EQ(at_ratio(5, -2).d_log_prob, 0);
  EXPECT_NEAR(at_ratio(5, -2, {.dual_clip = 0}).value, 10, 1e-12);
}

TEST(Loss, CispoWeighsTheLogProbByTheBoundedRatio) {
  const LossOptions options = {.objective = "cispo", .dual_clip = 0};
  // r = 1.1: −1.1·2·log 1.1; the gradient is the weight's.
  EXPECT_NEAR(at_ratio(1.1, 2, options).value, -1.1 * 2 * std::log(1.1), 1e-12);
  EXPECT_NEAR(at_ratio(1.1, 2, options).d_log_prob, -2.2, 1e-12);
  // Above 1 + high every token keeps a gradient, of either sign; there is no lower bound.
  EXPECT_NEAR(at_ratio(5, 2, options).d_log_prob, -1.28 * 2, 1e-12);
  EXPECT_NEAR(at_ratio(5, -2, options).d_log_prob, 1.28 * 2, 1e-12);
  EXPECT_TRUE(at_ratio(5, -2, options).clipped);
  EXPECT_NEAR(at_ratio(0.01, -2, options).d_log_prob, 0.02, 1e-12);
  EXPECT_FALSE(at_ratio(0.01, -2, options).clipped);
}

TEST(Loss, ImportanceWeighsCispoToo) {
  const TokenTerms terms = {.advantage = 2, .old_log_prob = -1, .importance = 0.5};
  const TokenLoss loss = token_loss({.objective = "cispo"}, terms, -1, 0);
  EXPECT_NEAR(loss.value, 1, 1e-12);  // −0.5·1·2·(−1)
  EXPECT_NEAR(loss.d_log_prob, -1, 1e-12);
}

TEST(Loss, LikelihoodKnowsNoRatio) {
  for (const double ratio : {0.01, 1.0, 8.0}) {
    const TokenLoss loss = at_ratio(ratio, 1, {.objective = "likelihood"});
    EXPECT_NEAR(loss.value, -std::log(ratio), 1e-12);
    EXPECT_EQ(loss.d_log_prob, -1);
    EXPECT_FALSE(loss.clipped);
  }
}

TEST(Loss, ATokenThatIsNoLongerLeftHasRatioZeroAndNoGradient) {
  const double gone = -std::numeric_limits<double>::infinity();
  for (const std::string objective : {"clip", "cispo", "likelihood"})
    for (const double advantage : {-1.0, 2.0}) {
      const TokenLoss loss =
          token_loss({.objective = objective, .kl_coefficient = 1, .entropy_coefficient = 0.1},
                     {.advantage = advantage, .weight = 0.5}, gone, 3);
      EXPECT_EQ(loss.ratio, 0);
      EXPECT_EQ(loss.d_log_prob, 0);
      EXPECT_NEAR(loss.value, -0.15, 1e-12);  // the entropy's alone
      EXPECT_NEAR(loss.d_entropy, -0.05, 1e-12);
    }
}

TEST(Loss, ReferenceKl) {
  // d = log π_ref − log π = −1 − (−2) = 1: k3 = e − 2, its derivative 1 − e; k1 = −1, its derivative 1.
  const TokenTerms terms = {.old_log_prob = -2, .reference_log_prob = -1};
  const TokenLoss k3 = token_loss({.kl_coefficient = 0.5}, terms, -2, 0);
  EXPECT_NEAR(k3.value, 0.5 * (std::exp(1.0) - 2), 1e-12);
  EXPECT_NEAR(k3.d_log_prob, 0.5 * (1 - std::exp(1.0)), 1e-12);
  const TokenLoss k1 = token_loss({.kl_coefficient = 0.5, .kl_estimator = "k1"}, terms, -2, 0);
  EXPECT_NEAR(k1.value, -0.5, 1e-12);
  EXPECT_NEAR(k1.d_log_prob, 0.5, 1e-12);
}

TEST(Loss, EntropyIsABonus) {
  const TokenLoss loss = token_loss({.entropy_coefficient = 0.1}, {.weight = 0.5}, 0, 3);
  EXPECT_NEAR(loss.value, -0.15, 1e-12);  // −0.5·0.1·3
  EXPECT_NEAR(loss.d_entropy, -0.05, 1e-12);
}

TEST(Loss, ImportanceWeighsTheAdvantageOnly) {
  const LossOptions options = {.kl_coefficient = 1};
  const TokenTerms terms = {.advantage = 1, .importance = 0.5, .reference_log_prob = 1};
  // −0.5·1 + (e − 1 − 1)
  EXPECT_NEAR(token_loss(options, terms, 0, 0).value, -0.5 + std::exp(1.0) - 2, 1e-12);
}

TEST(Loss, SequenceRatioIsTheAnswersMean) {
  const LossOptions options = {.ratio = "sequence"};
  const TokenLoss loss =
      token_loss(options, {.advantage = 2, .sequence_log_ratio = std::log(1.1)}, std::log(7.0), 0);
  EXPECT_NEAR(loss.value, -2.2, 1e-12);
  EXPECT_NEAR(loss.d_log_prob, -2.2, 1e-12);
}

TEST(Loss, HugeRatiosStayFinite) {
  EXPECT_TRUE(std::isfinite(token_loss({.dual_clip = 0}, {.advantage = -1}, 1000, 0).value));
  EXPECT_TRUE(std::isfinite(token_loss({.kl_coefficient = 1}, {.reference_log_prob = 1000}, 0, 0).value));
}

TEST(Loss, DerivativesMatchFiniteDifferences) {
  constexpr double kStep = 1e-6;
  for (const std::string estimator : {"k1", "k3"})
    for (double advantage : {-1.5, 0.0, 0.7})
      for (double log_ratio : {-0.6, -0.1, 0.05, 0.15, 0.5, 1.4}) {
        const LossOptions options = {
            .kl_coefficient = 0.3, .kl_estimator = estimator, .entropy_coefficient = 0.2};
        const TokenTerms terms = {.advantage = advantage,
                                  .old_log_prob = -1,
                                  .importance = 0.8,
                                  .reference_log_prob = -0.8,
                                  .weight = 0.25};
        const auto value = [&](double log_prob, double entropy) {
          return token_loss(options, terms, log_prob, entropy).value;
        };
        const double x = -1 + log_ratio;
        const TokenLoss loss = token_loss(options, terms, x, 2);
        EXPECT_NEAR(loss.d_log_prob, (value(x + kStep, 2) - value(x - kStep, 2)) / (2 * kStep), 1e-8);
        EXPECT_NEAR(loss.d_entropy, (value(x, 2 + kStep) - value(x, 2 - kStep)) / (2 * kStep), 1e-8);
      }
}

// The loss of a whole answer as a function of all its log-probs, GSPO with the mean per answer.
double gspo(const std::vector<double>& log_probs, const LossOptions& options, std::vector<double>* gradient) {
  double mean = 0;
  for (double log_prob : log_probs) mean += (log_prob + 1) / double(log_probs.size());
  double total = 0;
  for (double log_prob : log_probs) {
    const TokenTerms terms = {.advantage = 0.7,
                              .old_log_prob = -1,
                              .weight = 1.0 / double(log_probs.size()),
                              .sequence_log_ratio = mean};
    const TokenLoss loss = token_loss(options, terms, log_prob, 0);
    total += loss.value;
    if (gradient) gradient->push_back(loss.d_log_prob);
  }
  return total;
}

TEST(Loss, GspoDerivativeMatchesFiniteDifferencesOfTheSequenceObjective) {
  const LossOptions options = {.ratio = "sequence"};
  std::vector<double> log_probs = {-1.1, -0.7, -0.9}, gradient;
  gspo(log_probs, options, &gradient);
  for (size_t i = 0; i < log_probs.size(); ++i) {
    std::vector<double> up = log_probs, down = log_probs;
    up[i] += 1e-6, down[i] -= 1e-6;
    EXPECT_NEAR(gradient[i], (gspo(up, options, nullptr) - gspo(down, options, nullptr)) / 2e-6, 1e-8);
  }
}

// Log-ratios −0.1, 0.3, 0.1, mean 0.1: r·A/3 = e^0.1·0.7/3 a token.
TEST(Loss, GspoDerivativeOfATokenByHand) {
  std::vector<double> gradient;
  gspo({-1.1, -0.7, -0.9}, {.ratio = "sequence"}, &gradient);
  for (const double token : gradient) EXPECT_NEAR(token, -0.25787, 1e-5);
}

TEST(Loss, Normalisations) {
  // Two answers of 3 and one of 5 tokens; the second answer of the first row is masked out. Kept: 3 + 5
  // tokens.
  const rollout::Trajectory first = make_trajectory({passed(1), passed(1)}, 1, 2),
                            second = make_trajectory({passed(1)}, 2, 3);
  RowAdvantages first_row{std::vector<float>(10), {0, 0, 1, 1, 1, 0, 0, 0, 0, 0}};
  RowAdvantages second_row{std::vector<float>(7), {0, 0, 1, 1, 1, 1, 1}};
  const rollout::BatchRow rows[] = {{&first, 0}, {&second, 0}};
  const RowAdvantages* advantages[] = {&first_row, &second_row};
  const auto weights = [&](const std::string& name) {
    return normalisation_weights({.normalisation = name, .constant = 10}, rows, advantages);
  };
  EXPECT_DOUBLE_EQ(weights("token_mean")[0][2], 1.0 / 8);
  EXPECT_DOUBLE_EQ(weights("token_mean")[1][6], 1.0 / 8);
  EXPECT_DOUBLE_EQ(weights("seq_mean")[0][2], 1.0 / (2 * 3));
  EXPECT_DOUBLE_EQ(weights("seq_mean")[1][6], 1.0 / (2 * 5));
  EXPECT_DOUBLE_EQ(weights("constant")[0][2], 1.0 / (2 * 10));
  for (const std::string name : {"token_mean", "seq_mean", "constant"}) {
    EXPECT_EQ(weights(name)[0][1], 0);
    EXPECT_EQ(weights(name)[0][7], 0);
  }
}

}  // namespace
}  // namespace temper::trainer
