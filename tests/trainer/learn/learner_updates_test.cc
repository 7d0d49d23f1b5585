// Several updates: their parts, their schedule, their reference, and those that are skipped.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "base/error.h"
#include "tests/trainer/learn/small_learner.h"

namespace temper::trainer {

using policy::DType;
using policy::Policy;
using rollout::Batch;
using rollout::Group;
using rollout::Trajectory;

namespace {

// Every `count`th trajectory of a batch, from number `first` on, as a batch of its own.
Batch part_of(const Batch& batch, size_t first, size_t count) {
  Batch part;
  size_t index = 0;
  for (const Group& group : batch.groups) {
    Group& kept = part.groups.emplace_back(Group{group.task, {}});
    for (const Trajectory& row : group.samples)
      if (index++ % count == first) kept.samples.push_back(row);
  }
  return part;
}

// K updates of a batch are K updates of its parts, one after the other: each with its own denominators, and
// all with ratios against the policy that sampled.
TEST(Learner, UpdatesOfABatchAreThoseOfItsParts) {
  for (const LossOptions& loss : loss_variants())
    for (const bool apart : {false, true}) {
      Policy policy = tiny_policy(), twin = tiny_policy();
      const Batch rows = make_batch(policy), batch = apart ? with_a_row_for_each_turn(rows) : rows;
      Learner learner(policy, {.updates_per_batch = 3, .epochs = 2}, loss, {.lr = 1e-3}, {}, 1);
      EXPECT_EQ(learner.update(batch, own_advantages(batch)).updates, 6);

      LossOptions given = loss;
      given.importance_cap = 0;  // the weights were those that sampled: it is 1 in every update
      Learner plain(twin, {}, given, {.lr = 1e-3}, {}, 1);
      for (int epoch = 0; epoch < 2; ++epoch)
        for (const size_t first : {0, 1, 2}) {
          const Batch part = part_of(batch, first, 3);
          plain.update(part, own_advantages(part));
        }
      EXPECT_LT(largest_difference(policy.parameters().weights(), twin.parameters().weights()), 1e-6);
      EXPECT_GT(largest_difference(policy.parameters().weights(), tiny_policy().parameters().weights()),
                1e-3);
    }
}

// Passes that only score cost a third of an update: there are none whose numbers an update finds by itself.
TEST(Learner, ScoresNothingThatItKnows) {
  const auto scored = [](const LossOptions& loss, int64_t updates_per_batch) {
    Policy policy = tiny_policy();
    const Batch batch = make_batch(policy);
    Learner learner(policy, {.updates_per_batch = updates_per_batch, .epochs = 2}, loss, {.lr = 1e-3}, {}, 1);
    return learner.update(batch, own_advantages(batch)).scored_tokens;
  };
  Policy policy = tiny_policy();
  const Batch batch = make_batch(policy), first = part_of(batch, 0, 3);
  const auto tokens = [](const Batch& rows) {
    int64_t sum = 0;
    for (const rollout::BatchRow& row : rollout::rows_of(rows)) sum += std::ssize(row.ids());
    return sum;
  };
  EXPECT_EQ(scored({}, 1), 0);
  EXPECT_EQ(scored({.ratio = "sequence"}, 3), 0);
  EXPECT_EQ(scored({.importance_cap = 2}, 1), 0);
  EXPECT_EQ(scored({.importance_cap = 2}, 3), tokens(batch) - tokens(first));
  EXPECT_EQ(scored({.kl_coefficient = 0.1}, 3), tokens(batch));
}

TEST(Learner, WithNothingKeptNothingMoves) {
  Policy policy = tiny_policy();
  const Batch batch = make_batch(policy);
  TokenAdvantages advantages = random_advantages(batch);
  for (RowAdvantages& row : advantages) std::fill(row.mask.begin(), row.mask.end(), uint8_t(0));
  const at::Tensor before = policy.parameters().weights().clone();
  Learner learner(policy, {}, {}, {.lr = 1}, {}, 1);
  EXPECT_EQ(learner.update(batch, advantages).updates, 0);
  EXPECT_TRUE(policy.parameters().weights().equal(before));
}

TEST(Learner, TheReferenceStaysWhereTrainingBegan) {
  Policy policy = tiny_policy();
  const Batch batch = make_batch(policy);
  const TokenAdvantages advantages = random_advantages(batch);
  const at::Tensor before = policy.parameters().weights().clone();
  Learner learner(policy, {}, {.kl_coefficient = 0.01}, {.lr = 1e-2}, {}, 10);
  EXPECT_NEAR(learner.update(batch, advantages).reference_kl, 0, 1e-9);
  EXPECT_GT(learner.update(batch, advantages).reference_kl, 1e-4);
  EXPECT_TRUE(learner.reference()->equal(before));
  EXPECT_FALSE(policy.parameters().weights().equal(before));
}

// A run of `steps` steps: the learning rate of each step's last update. `first` > 1: one that goes on.
std::vector<double> learning_rates(Policy& policy, const OptimizerOptions& optimizer, int64_t steps,
                                   int64_t first, int64_t spoiled = 0) {
  Batch batch = make_batch(policy);
  const TokenAdvantages good = random_advantages(batch);
  TokenAdvantages bad = good;
  for (RowAdvantages& row : bad)
    std::fill(row.advantage.begin(), row.advantage.end(), std::numeric_limits<float>::quiet_NaN());
  Learner learner(policy, {.updates_per_batch = 2, .epochs = 2}, {}, optimizer, {}, steps);
  std::vector<double> rates;
  for (int64_t step = first; step <= steps; ++step) {
    batch.step = step;
    const LearnStats stats = learner.update(batch, step == spoiled ? bad : good);
    EXPECT_EQ(stats.skipped_updates, step == spoiled ? 4 : 0);
    rates.push_back(stats.lr);
  }
  return rates;
}

TEST(Learner, TheScheduleEndsWithTheRunsLastUpdate) {
  Policy policy = tiny_policy();
  const OptimizerOptions optimizer = {.lr = 1e-6, .schedule = "linear", .warmup = 0.3};
  const std::vector<double> rates = learning_rates(policy, optimizer, 10, 1);
  // Four updates a step: the last of step s is number 4·s − 1 of 40, in the middle of it 4·s − 0.5 are done.
  for (int64_t step = 1; step <= 10; ++step)
    EXPECT_NEAR(rates[size_t(step - 1)], learning_rate(optimizer, (4.0 * double(step) - 0.5) / 40), 1e-18);
  EXPECT_LT(rates[1], rates[2]);  // still warming up
  EXPECT_GT(rates[8], 0.1e-6);
  EXPECT_NEAR(rates[9], 1e-6 * (0.5 / 40) / 0.7, 1e-15);
}

TEST(Learner, SkippedUpdatesAndStopsDoNotMoveTheSchedule) {
  Policy policy = tiny_policy();
  const OptimizerOptions optimizer = {.lr = 1e-6, .schedule = "cosine"};
  const std::vector<double> whole = learning_rates(policy, optimizer, 6, 1);
  EXPECT_EQ(learning_rates(policy, optimizer, 6, 1, 2), whole);
  const std::vector<double> rest = learning_rates(policy, optimizer, 6, 4);
  EXPECT_EQ(rest, std::vector<double>(whole.begin() + 3, whole.end()));
}

// Answers whose sampling log-probs are far from the policy's, as after some updates: no ratio weighs them.
TEST(Learner, EveryUpdateOfImitationIsOneOfSupervisedFineTuning) {
  Policy policy = tiny_policy(), twin = tiny_policy();
  Batch batch = make_batch(policy);
  TurnValues ones;
  for (Group& group : batch.groups) {
    GroupValues& samples = ones.emplace_back();
    for (Trajectory& row : group.samples) {
      samples.push_back(SampleValues(row.turns.size(), {.plan = 1, .code = 1}));
      for (float& log_prob : row.segments[0].log_probs) log_prob -= 2;
    }
  }
  const TokenAdvantages advantages = spread_over_tokens(batch, ones);
  const OptimizerOptions optimizer = {.lr = 1e-3};
  Learner learner(policy, {.epochs = 4}, {.objective = "likelihood"}, optimizer, {}, 1);
  const LearnStats stats = learner.update(batch, advantages);
  EXPECT_EQ(stats.updates, 4);

  policy::PackedTokens pack;
  pack.starts = {0};
  for (const rollout::BatchRow& row : rollout::rows_of(batch)) {
    const RowAdvantages& of_row = advantages[pack.starts.size() - 1];
    pack.ids.insert(pack.ids.end(), row.ids().begin(), row.ids().end());
    pack.scored.insert(pack.scored.end(), of_row.mask.begin(), of_row.mask.end());
    pack.starts.push_back(int32_t(pack.ids.size()));
  }
  const auto tokens = double(std::ranges::count(pack.scored, 1));
  AdamW plain(twin.parameters(), optimizer);
  for (int epoch = 0; epoch < 4; ++epoch) {
    twin.forward_backward(
        pack, [&](int64_t, std::span<const double>, std::span<const double>, std::span<double> d_log_prob,
                  std::span<double>) { std::ranges::fill(d_log_prob, -1 / tokens); });
    plain.update(optimizer.lr);
  }
  EXPECT_LT(largest_difference(policy.parameters().weights(), twin.parameters().weights()), 1e-10);
  EXPECT_GT(largest_difference(policy.parameters().weights(), tiny_policy().parameters().weights()), 1e-4);
}

TEST(Learner, EndsAfterSkippedUpdatesInARowAndSaysWhatWasNotFinite) {
  Policy policy = tiny_policy();
  const Batch batch = make_batch(policy);
  const TokenAdvantages good = random_advantages(batch);
  TokenAdvantages bad = good;
  for (RowAdvantages& row : bad) std::ranges::fill(row.advantage, std::numeric_limits<float>::infinity());
  Learner learner(policy, {.max_skipped_updates = 3}, {}, {}, {}, 10);
  for (const bool spoiled : {true, true, false, true, true})
    EXPECT_EQ(learner.update(batch, spoiled ? bad : good).skipped_updates, spoiled);
  try {
    learner.update(batch, bad);
    FAIL() << "no error";
  } catch (const WorldError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("3 consecutive updates were skipped"));
    EXPECT_THAT(error.what(), testing::HasSubstr("model.embed_tokens.weight"));
    EXPECT_THAT(error.what(), testing::HasSubstr("numbers, the first "));
    EXPECT_THAT(error.what(), testing::HasSubstr("the loss of its step was"));
  }
  Learner patient(policy, {.max_skipped_updates = 0}, {}, {}, {}, 10);
  for (int update = 0; update < 20; ++update) EXPECT_EQ(patient.update(batch, bad).skipped_updates, 1);
}

// A reference of another dtype cannot be scored: the exception comes while it stands in the weights' place.
TEST(Learner, TheWeightsAreBackWhereScoringTheReferenceFailed) {
  Policy policy = tiny_policy();
  const Batch batch = make_batch(policy);
  const TokenAdvantages advantages = random_advantages(batch);
  Learner learner(policy, {}, {.kl_coefficient = 0.1}, {.lr = 1e-3}, {}, 10);
  const at::Tensor good = learner.reference()->clone(), before = policy.parameters().weights().clone();
  const void* place = policy.parameters().weights().const_data_ptr();
  learner.set_reference(good.to(at::kFloat));
  EXPECT_THROW(learner.update(batch, advantages), std::exception);
  EXPECT_EQ(policy.parameters().weights().const_data_ptr(), place);
  EXPECT_TRUE(policy.parameters().weights().equal(before));
  EXPECT_TRUE(learner.reference()->equal(good.to(at::kFloat)));
  learner.set_reference(good);
  EXPECT_EQ(learner.update(batch, advantages).updates, 1);
  EXPECT_EQ(policy.parameters().weights().const_data_ptr(), place);
  EXPECT_TRUE(learner.reference()->equal(good));
}

// Log-prob of the first sample's and of the second sample's answer.
std::pair<double, double> answer_log_probs(Learner& learner, const Batch& batch) {
  const auto log_probs = learner.log_probs(batch);
  const auto total = [](const std::vector<float>& row) {
    return std::accumulate(row.begin(), row.end(), 0.0);
  };
  return {total(log_probs[0]), total(log_probs[1])};
}

TEST(Learner, TheBetterAnswerBecomesLikelier) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    Policy policy = tiny_policy(dtype);
    policy.parameters().init_random(3);
    Batch batch;
    batch.groups = {{.task = "t", .samples = {make_trajectory({passed(2)}), make_trajectory({failed()})}}};
    for (int32_t t : {2, 3, 4}) batch.groups[0].samples[1].segments[0].ids[t] += 5;
    Learner learner(policy, {}, {}, {.lr = 3e-3}, {}, 20);
    const auto before = answer_log_probs(learner, batch);
    for (int step = 0; step < 20; ++step) {
      const auto log_probs = learner.log_probs(batch);
      for (size_t n = 0; n < 2; ++n) batch.groups[0].samples[n].segments[0].log_probs = log_probs[n];
      learner.update(batch, spread_over_tokens(batch, {{values({1}), values({-1})}}));
    }
    const auto after = answer_log_probs(learner, batch);
    EXPECT_GT(after.first, before.first + 1);
    EXPECT_LT(after.second, before.second - 1);
  }
}

}  // namespace
}  // namespace temper::trainer
