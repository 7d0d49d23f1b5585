#include "trainer/learn/learner.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/rng.h"
#include "policy/parameters/parameter_store.h"
#include "tests/policy/small_model.h"
#include "tests/trainer/fixtures.h"

namespace temper::trainer {

using policy::DType;
using policy::Policy;
using policy::SamplingParams;
using rollout::Batch;
using rollout::Group;
using rollout::Trajectory;

namespace {

Policy tiny_policy(DType dtype = DType::kF64) {
  policy::PolicyOptions options;
  options.dtype = dtype;
  options.memory.logits_chunk = 5;
  Policy policy(policy::small_config(), options);
  policy.parameters().init_random(3);
  policy.parameters().weights().mul_(6);  // far from uniform, so that every term matters
  return policy;
}

// Two tasks of three samples with one to three turns; the tokens differ. `rollout` log-probs are the policy's
// own.
Batch make_batch(Policy& policy, double temperature = 1) {
  Batch batch;
  uint64_t key = 0;
  for (const std::string task : {"a", "b"}) {
    Group& group = batch.groups.emplace_back();
    group.task = task;
    for (int n = 0; n < 3; ++n) {
      Trajectory row = make_trajectory(std::vector<env::Verdict>(n + 1, passed(1)), 1 + n, 3);
      Rng rng(++key);
      for (int32_t& id : row.segments[0].ids) id = int32_t(rng.below(11));
      group.samples.push_back(std::move(row));
    }
  }
  Learner scorer(policy, {}, {}, {}, {.temperature = temperature}, 1);
  const auto log_probs = scorer.log_probs(batch);
  size_t index = 0;
  for (Group& group : batch.groups)
    for (Trajectory& row : group.samples) row.segments[0].log_probs = log_probs[index++];
  return batch;
}

TokenAdvantages random_advantages(const Batch& batch) {
  TurnValues values;
  Rng rng(99);
  for (const Group& group : batch.groups) {
    GroupValues& samples = values.emplace_back();
    for (const Trajectory& row : group.samples) {
      SampleValues& turns = samples.emplace_back();
      for (size_t t = 0; t < row.turns.size(); ++t)
        turns.push_back({.plan = rng.normal(), .code = rng.normal(), .kept = rng.uniform() < 0.8});
    }
  }
  return spread_over_tokens(batch, values);
}

// SGD in disguise: with beta1 = 0 the first moment is the gradient of the last update.
OptimizerOptions expose_gradient() { return {.lr = 0, .beta1 = 0, .weight_decay = 0, .clip = 0}; }

at::Tensor gradient_of(Policy& policy, const Batch& batch, const TokenAdvantages& advantages,
                       LearnerOptions options, LossOptions loss, LearnStats* stats = nullptr,
                       double temperature = 1) {
  policy.parameters().moment1().zero_();
  Learner learner(policy, options, loss, expose_gradient(), {.temperature = temperature}, 1);
  const LearnStats result = learner.update(batch, advantages);
  if (stats) *stats = result;
  return policy.parameters().moment1().clone();
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

const std::vector<LossOptions>& loss_variants() {
  static const std::vector<LossOptions> variants = {
      {},
      {.normalisation = "seq_mean"},
      {.kl_coefficient = 0.1, .entropy_coefficient = 0.2, .normalisation = "constant", .constant = 7},
      {.ratio = "sequence", .importance_cap = 2, .normalisation = "seq_mean"},
  };
  return variants;
}

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
  at::Tensor& weights = policy.parameters().weights();
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

// The same answers behind the same tokens, each turn in a row of its own.
Batch with_a_row_for_each_turn(const Batch& batch) {
  Batch apart = batch;
  for (Group& group : apart.groups)
    for (Trajectory& trajectory : group.samples) {
      const rollout::Segment whole = std::move(trajectory.segments[0]);
      trajectory.segments.clear();
      for (size_t i = 0; i < trajectory.turns.size(); ++i) {
        const size_t prefix = i == 0 ? 0 : size_t(trajectory.turns[i - 1].end);
        rollout::Segment row = rollout::begin_segment(int32_t(i) - 1, whole, prefix);
        for (size_t t = prefix; t < size_t(trajectory.turns[i].end); ++t) {
          row.append({whole.ids[t]}, whole.roles[t]);
          row.log_probs.back() = whole.log_probs[t];
        }
        trajectory.segments.push_back(std::move(row));
        trajectory.turns[i].segment = int32_t(i);
      }
    }
  return apart;
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
  for (const LossOptions& loss : losses) {
    LearnStats one, several;
    const at::Tensor expected = gradient_of(policy, batch, random_advantages(batch), {}, loss, &one);
    const at::Tensor found = gradient_of(policy, apart, random_advantages(apart), {}, loss, &several);
    EXPECT_GT(expected.norm().item<double>(), 0);
    EXPECT_LT((found - expected).norm().item<double>(), 1e-5 * expected.norm().item<double>());
    EXPECT_EQ(one.tokens, several.tokens);
    EXPECT_NEAR(one.loss, several.loss, 1e-6);
    EXPECT_NEAR(one.rollout_kl, several.rollout_kl, 1e-6);
    EXPECT_LT(one.packed_tokens, several.packed_tokens);
  }
}

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

// Random ones that stay with their trajectory, whatever batch it stands in.
TokenAdvantages own_advantages(const Batch& batch) {
  TurnValues values;
  for (const Group& group : batch.groups) {
    GroupValues& samples = values.emplace_back();
    for (const Trajectory& row : group.samples) {
      Rng rng{uint64_t(row.turns.size()), uint64_t(row.segments[0].ids[0]), uint64_t(row.segments[0].ids[1])};
      SampleValues& turns = samples.emplace_back(row.turns.size());
      for (TurnValue& turn : turns) turn = {.plan = rng.normal(), .code = rng.normal()};
    }
  }
  return spread_over_tokens(batch, values);
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
