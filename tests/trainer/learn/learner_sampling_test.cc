// Tokens beside the distribution that they were drawn from.

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "tests/trainer/learn/small_learner.h"

namespace temper::trainer {

using policy::Policy;
using policy::SamplingParams;
using rollout::Batch;
using rollout::Group;
using rollout::Trajectory;

namespace {

TEST(Learner, ReportsTheMismatchWithTheSampler) {
  Policy policy = tiny_policy();
  Batch batch = make_batch(policy);
  const TokenAdvantages advantages = random_advantages(batch);
  LearnStats stats;
  gradient_of(policy, batch, advantages, {}, {}, &stats);
  EXPECT_NEAR(stats.rollout_kl, 0, 1e-6);
  EXPECT_LT(stats.rollout_max_abs_log_diff, 1e-6);
  EXPECT_NEAR(stats.ratio_mean, 1, 1e-6);
  for (Group& group : batch.groups)
    for (Trajectory& row : group.samples)
      for (float& log_prob : row.segments[0].log_probs) log_prob += 0.5f;
  gradient_of(policy, batch, advantages, {}, {}, &stats);
  EXPECT_NEAR(stats.rollout_kl, 0.5, 1e-6);
  EXPECT_NEAR(stats.rollout_max_abs_log_diff, 0.5, 1e-6);
  EXPECT_NEAR(stats.ratio_mean, std::exp(-0.5), 1e-6);
}

// All tokens sampled by one that gave them another probability: the ratio is against the trainer, and min(π /
// π_rollout, cap) weighs the advantages.
TEST(Learner, TruncatedImportanceSamplingWeighsUpToItsCap) {
  Policy policy = tiny_policy();
  const Batch batch = make_batch(policy);
  const TokenAdvantages advantages = random_advantages(batch);
  const at::Tensor plain = gradient_of(policy, batch, advantages, {}, {});
  EXPECT_GT(plain.abs().max().item<double>(), 1e-3);
  for (const auto& [shift, weight] :
       {std::pair(-1.0f, 2.0), {-0.5f, std::exp(0.5)}, {1.0f, std::exp(-1.0)}}) {
    Batch shifted = batch;
    for (Group& group : shifted.groups)
      for (Trajectory& row : group.samples)
        for (float& log_prob : row.segments[0].log_probs) log_prob += shift;
    LearnStats stats;
    const at::Tensor found = gradient_of(policy, shifted, advantages, {}, {.importance_cap = 2}, &stats);
    EXPECT_LT(largest_difference(found, plain * weight), 1e-5) << shift;
    EXPECT_NEAR(stats.ratio_mean, 1, 1e-6);
    EXPECT_NEAR(stats.rollout_kl, shift, 1e-6);
  }
}

// Random tokens, of which top-k has left some out: they are counted, and no gradient comes from them.
TEST(Learner, LearnsFromTheDistributionThatWasDrawnFrom) {
  Policy policy = tiny_policy();
  Batch batch = make_batch(policy);
  const SamplingParams sampling = {.top_k = 20};
  Learner scorer(policy, {}, {}, {}, sampling, 1);
  const auto log_probs = scorer.log_probs(batch);
  TokenAdvantages advantages = random_advantages(batch), inside = advantages;
  int64_t gone = 0, row_index = 0;
  for (Group& group : batch.groups)
    for (Trajectory& row : group.samples) {
      row.segments[0].log_probs = log_probs[size_t(row_index)];
      RowAdvantages& of_row = inside[size_t(row_index++)];
      for (size_t t = 0; t < of_row.mask.size(); ++t)
        if (of_row.mask[t] && std::isinf(row.segments[0].log_probs[t])) {
          of_row.advantage[t] = 0;
          row.segments[0].log_probs[t] = -3;  // as if it had been drawn before the weights moved
          ++gone;
        }
    }
  ASSERT_GT(gone, 3);
  const auto learn = [&](const TokenAdvantages& of, LearnStats& stats) {
    policy.parameters().moment1().zero_();
    Learner learner(policy, {}, {}, expose_gradient(), sampling, 1);
    stats = learner.update(batch, of);
    return policy.parameters().moment1().clone();
  };
  LearnStats stats, of_inside;
  const at::Tensor found = learn(advantages, stats), expected = learn(inside, of_inside);
  EXPECT_GT(expected.abs().max().item<double>(), 1e-3);
  EXPECT_LT(largest_difference(found, expected), 1e-12);
  EXPECT_EQ(stats.left_out, gone);
  EXPECT_LT(stats.rollout_max_abs_log_diff, 1e-6);
  EXPECT_NEAR(stats.ratio_mean, double(stats.tokens - gone) / double(stats.tokens), 1e-6);
}

// Under top-k: log-probs of what is left, and tokens that are not out of the loss, or as they were drawn
// before the weights moved.
TokenAdvantages drawn_under(const SamplingParams& sampling, Policy& policy, Batch& batch,
                            bool with_left_out) {
  const auto log_probs = Learner(policy, {}, {}, {}, sampling, 1).log_probs(batch);
  TokenAdvantages advantages = own_advantages(batch);
  size_t index = 0;
  for (Group& group : batch.groups)
    for (Trajectory& row : group.samples) {
      row.segments[0].log_probs = log_probs[index];
      RowAdvantages& of_row = advantages[index++];
      for (size_t t = 0; t < of_row.mask.size(); ++t) {
        if (!std::isinf(row.segments[0].log_probs[t])) continue;
        row.segments[0].log_probs[t] = -3;
        of_row.mask[t] = with_left_out;
      }
    }
  return advantages;
}

// The passes that take a loss's givens as much as the gradient's: on the policy that sampled every ratio is
// 1. The reference alone is whole.
TEST(Learner, EveryPassScoresTheDistributionThatWasDrawnFrom) {
  Policy policy = tiny_policy();
  Batch batch = make_batch(policy);
  const SamplingParams sampling = {.temperature = 2, .top_k = 20};
  const TokenAdvantages advantages = drawn_under(sampling, policy, batch, false);
  const auto learn = [&](const LossOptions& loss, LearnStats& stats) {
    policy.parameters().moment1().zero_();
    Learner learner(policy, {}, loss, expose_gradient(), sampling, 1);
    stats = learner.update(batch, advantages);
    return policy.parameters().moment1().clone();
  };
  LearnStats plain, other;
  const at::Tensor expected = learn({}, plain);
  EXPECT_GT(expected.abs().max().item<double>(), 1e-3);
  for (const LossOptions& loss : {LossOptions{.ratio = "sequence"}, LossOptions{.importance_cap = 2}}) {
    EXPECT_LT(largest_difference(learn(loss, other), expected), 1e-5) << loss.ratio;
    EXPECT_NEAR(other.ratio_mean, 1, 1e-6) << loss.ratio;
    EXPECT_EQ(other.tokens, plain.tokens);
  }
  learn({.kl_coefficient = 0.1}, other);
  const auto whole = Learner(policy, {}, {}, {}, {.temperature = 2}, 1).log_probs(batch);
  double sum = 0;
  size_t index = 0;
  for (const rollout::BatchRow& row : rollout::rows_of(batch)) {
    for (size_t t = 0; t < row.ids().size(); ++t)
      if (advantages[index].mask[t]) {
        const double d = double(whole[index][t]) - double(row.row().log_probs[t]);
        sum += std::exp(d) - d - 1;
      }
    ++index;
  }
  EXPECT_GT(other.reference_kl, 1e-3);
  EXPECT_NEAR(other.reference_kl, sum / double(other.tokens), 1e-6);
}

// Where rounding has moved a cut the trainer has no probability for a token that was drawn, and may have one
// again after an update.
TEST(Learner, ATokenWithoutAProbabilityLeavesEveryFigureFinite) {
  for (const std::string ratio : {"token", "sequence"}) {
    Policy policy = tiny_policy();
    Batch batch = make_batch(policy);
    const SamplingParams sampling = {.top_k = 20};
    const TokenAdvantages advantages = drawn_under(sampling, policy, batch, true);
    Learner learner(policy, {.epochs = 6}, {.ratio = ratio, .importance_cap = 2}, {.lr = 0.03}, sampling, 1);
    const LearnStats stats = learner.update(batch, advantages);
    EXPECT_EQ(stats.updates, 6);
    EXPECT_GT(stats.left_out, 3);
    for (const double figure : {stats.loss, stats.approx_kl, stats.ratio_mean, stats.grad_norm})
      EXPECT_TRUE(std::isfinite(figure)) << ratio << " " << figure;
  }
}

}  // namespace
}  // namespace temper::trainer
