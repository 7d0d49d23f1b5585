// Which gradient an update follows, and which rows it is of.

#include "trainer/learn/learner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/trainer/learn/small_learner.h"

namespace temper::trainer {

using policy::Policy;
using rollout::Batch;
using rollout::Group;
using rollout::Trajectory;

namespace {

TEST(Learner, MicroBatchesDoNotChangeTheGradient) {
  Policy policy = tiny_policy();
  const Batch batch = make_batch(policy);
  const TokenAdvantages advantages = random_advantages(batch);
  for (const LossOptions& loss : loss_variants()) {
    const at::Tensor whole = gradient_of(policy, batch, advantages, {.micro_batch_tokens = 10000}, loss);
    EXPECT_GT(whole.abs().max().item<double>(), 1e-3);
    for (int64_t tokens : {1, 20, 33})
      EXPECT_LT(largest_difference(
                    gradient_of(policy, batch, advantages, {.micro_batch_tokens = tokens}, loss), whole),
                1e-12);
  }
}

TEST(Learner, TheGradientIsTheLossesDerivative) {
  Policy policy = tiny_policy();
  Batch batch = make_batch(policy);
  const TokenAdvantages advantages = random_advantages(batch);
  // Old log-probs a little off: ratios differ from one, none at a clip.
  Rng rng(5);
  for (Group& group : batch.groups)
    for (Trajectory& row : group.samples)
      for (size_t t = 0; t < row.segments[0].ids.size(); ++t)
        if (rollout::is_response(row.segments[0].roles[t]))
          row.segments[0].log_probs[t] += float(0.1 * (rng.uniform() - 0.5));
  const LossOptions loss = {.entropy_coefficient = 0.2};
  const auto value = [&] {
    LearnStats stats;
    gradient_of(policy, batch, advantages, {}, loss, &stats, 0.7);
    return stats.loss;
  };
  const at::Tensor gradient = gradient_of(policy, batch, advantages, {}, loss, nullptr, 0.7);
  const at::Tensor& weights = policy.parameters().weights();
  for (int64_t i = 0; i < weights.numel(); i += 97) {
    const double kept = weights[i].item<double>(), step = 1e-6;
    weights[i] = kept + step;
    const double up = value();
    weights[i] = kept - step;
    const double down = value();
    weights[i] = kept;
    EXPECT_NEAR(gradient[i].item<double>(), (up - down) / (2 * step), 1e-7) << i;
  }
}

TEST(Learner, RowsForEachTurnTeachWhatOneRowTeaches) {
  Policy policy = tiny_policy();
  Batch batch = make_batch(policy);
  Rng rng(5);
  for (Group& group : batch.groups)
    for (Trajectory& trajectory : group.samples)
      for (float& log_prob : trajectory.segments[0].log_probs)
        if (log_prob < 0) log_prob += float(0.1 * (rng.uniform() - 0.5));
  const Batch apart = with_a_row_for_each_turn(batch);
  const std::vector<LossOptions> losses = {
      {.entropy_coefficient = 0.1},
      {.ratio = "sequence", .normalisation = "seq_mean"},
      {.importance_cap = 2, .kl_coefficient = 0.1, .normalisation = "constant"}};
  const LearnerOptions whole_rows{.share_prompts = false};
  for (const LossOptions& loss : losses) {
    LearnStats one, several;
    const at::Tensor expected = gradient_of(policy, batch, random_advantages(batch), whole_rows, loss, &one);
    const at::Tensor found = gradient_of(policy, apart, random_advantages(apart), whole_rows, loss, &several);
    EXPECT_GT(expected.norm().item<double>(), 0);
    EXPECT_LT((found - expected).norm().item<double>(), 1e-5 * expected.norm().item<double>());
    EXPECT_EQ(one.tokens, several.tokens);
    EXPECT_NEAR(one.loss, several.loss, 1e-6);
    EXPECT_NEAR(one.rollout_kl, several.rollout_kl, 1e-6);
    EXPECT_LT(one.packed_tokens, several.packed_tokens);
  }
}

TEST(Learner, CountsWhatItLearnedFrom) {
  Policy policy = tiny_policy();
  const Batch batch = make_batch(policy);
  const TokenAdvantages advantages = random_advantages(batch);
  int64_t kept = 0;
  for (const RowAdvantages& row : advantages) kept += std::count(row.mask.begin(), row.mask.end(), 1);
  LearnStats stats;
  gradient_of(policy, batch, advantages, {.updates_per_batch = 3}, {}, &stats);
  EXPECT_EQ(stats.updates, 3);
  EXPECT_EQ(stats.tokens, kept);
  gradient_of(policy, batch, advantages, {.updates_per_batch = 2, .epochs = 2}, {}, &stats);
  EXPECT_EQ(stats.updates, 4);
  EXPECT_EQ(stats.tokens, 2 * kept);
}

TEST(Learner, RowsThatMoveNothingAreLeftOutButCounted) {
  Policy policy = tiny_policy();
  const Batch batch = make_batch(policy);
  TokenAdvantages advantages = random_advantages(batch);
  for (const size_t row : {1, 4}) std::ranges::fill(advantages[row].advantage, 0.0f);
  for (LossOptions loss : {LossOptions{}, {.normalisation = "constant", .constant = 7}, loss_variants()[3]}) {
    LearnStats some, all;
    const at::Tensor found = gradient_of(policy, batch, advantages, {}, loss, &some);
    loss.entropy_coefficient = 1e-300;  // for its sake every row is computed
    const at::Tensor expected = gradient_of(policy, batch, advantages, {}, loss, &all);
    EXPECT_EQ(some.idle_rows, 2);
    EXPECT_EQ(all.idle_rows, 0);
    EXPECT_LT(some.packed_tokens, all.packed_tokens);
    EXPECT_LT(some.tokens, all.tokens);
    EXPECT_GT(expected.abs().max().item<double>(), 1e-3);
    EXPECT_LT(largest_difference(found, expected), 1e-12);
    EXPECT_NEAR(some.loss, all.loss, 1e-12);
  }
  for (RowAdvantages& row : advantages) std::ranges::fill(row.advantage, 0.0f);
  LearnStats none;
  EXPECT_EQ(gradient_of(policy, batch, advantages, {}, {}, &none).abs().max().item<double>(), 0);
  EXPECT_EQ(none.updates, 1);  // the moments fade as they do where rows are computed
  EXPECT_EQ(none.packed_tokens, 0);
}

// All answers of a broken policy are alike, so that no advantage is left.
TEST(Learner, RowsOfABrokenPolicyMoveNothingAndAreSkippedAllTheSame) {
  Policy policy = tiny_policy();
  Batch batch = make_batch(policy);
  TokenAdvantages advantages = random_advantages(batch);
  for (RowAdvantages& row : advantages) std::ranges::fill(row.advantage, 0.0f);
  for (Group& group : batch.groups)
    for (Trajectory& row : group.samples)
      std::ranges::fill(row.segments[0].log_probs, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(Learner(policy, {}, {}, {}, {}, 10).update(batch, advantages).skipped_updates, 1);
}

}  // namespace
}  // namespace temper::trainer
