#pragma once
// A policy of a few thousand parameters, a batch for it, and the gradient that a learner finds.

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "base/rng.h"
#include "policy/parameters/parameter_store.h"
#include "tests/policy/small_model.h"
#include "tests/trainer/fixtures.h"
#include "trainer/learn/learner.h"

namespace temper::trainer {

inline policy::Policy tiny_policy(policy::DType dtype = policy::DType::kF64) {
  policy::PolicyOptions options;
  options.dtype = dtype;
  options.memory.logits_chunk = 5;
  policy::Policy policy(policy::small_config(), options);
  policy.parameters().init_random(3);
  policy.parameters().weights().mul_(6);  // far from uniform, so that every term matters
  return policy;
}

// Two tasks of three samples with one to three turns; the tokens differ. `rollout` log-probs are the policy's
// own.
inline rollout::Batch make_batch(policy::Policy& policy, double temperature = 1) {
  rollout::Batch batch;
  uint64_t key = 0;
  for (const std::string task : {"a", "b"}) {
    rollout::Group& group = batch.groups.emplace_back();
    group.task = task;
    for (int n = 0; n < 3; ++n) {
      rollout::Trajectory row = make_trajectory(std::vector<env::Verdict>(n + 1, passed(1)), 1 + n, 3);
      Rng rng(++key);
      for (int32_t& id : row.segments[0].ids) id = int32_t(rng.below(11));
      group.samples.push_back(std::move(row));
    }
  }
  Learner scorer(policy, {}, {}, {}, {.temperature = temperature}, 1);
  const auto log_probs = scorer.log_probs(batch);
  size_t index = 0;
  for (rollout::Group& group : batch.groups)
    for (rollout::Trajectory& row : group.samples) row.segments[0].log_probs = log_probs[index++];
  return batch;
}

inline TokenAdvantages random_advantages(const rollout::Batch& batch) {
  TurnValues values;
  Rng rng(99);
  for (const rollout::Group& group : batch.groups) {
    GroupValues& samples = values.emplace_back();
    for (const rollout::Trajectory& row : group.samples) {
      SampleValues& turns = samples.emplace_back();
      for (size_t t = 0; t < row.turns.size(); ++t)
        turns.push_back({.plan = rng.normal(), .code = rng.normal(), .kept = rng.uniform() < 0.8});
    }
  }
  return spread_over_tokens(batch, values);
}

// Random ones that stay with their trajectory, whatever batch it stands in.
inline TokenAdvantages own_advantages(const rollout::Batch& batch) {
  TurnValues values;
  for (const rollout::Group& group : batch.groups) {
    GroupValues& samples = values.emplace_back();
    for (const rollout::Trajectory& row : group.samples) {
      Rng rng{uint64_t(row.turns.size()), uint64_t(row.segments[0].ids[0]), uint64_t(row.segments[0].ids[1])};
      SampleValues& turns = samples.emplace_back(row.turns.size());
      for (TurnValue& turn : turns) turn = {.plan = rng.normal(), .code = rng.normal()};
    }
  }
  return spread_over_tokens(batch, values);
}

// The same answers behind the same tokens, each turn in a row of its own.
inline rollout::Batch with_a_row_for_each_turn(const rollout::Batch& batch) {
  rollout::Batch apart = batch;
  for (rollout::Group& group : apart.groups)
    for (rollout::Trajectory& trajectory : group.samples) {
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

// SGD in disguise: with beta1 = 0 the first moment is the gradient of the last update.
inline OptimizerOptions expose_gradient() { return {.lr = 0, .beta1 = 0, .weight_decay = 0, .clip = 0}; }

inline at::Tensor gradient_of(policy::Policy& policy, const rollout::Batch& batch,
                              const TokenAdvantages& advantages, LearnerOptions options, LossOptions loss,
                              LearnStats* stats = nullptr, double temperature = 1) {
  policy.parameters().moment1().zero_();
  Learner learner(policy, options, loss, expose_gradient(), {.temperature = temperature}, 1);
  const LearnStats result = learner.update(batch, advantages);
  if (stats) *stats = result;
  return policy.parameters().moment1().clone();
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

inline const std::vector<LossOptions>& loss_variants() {
  static const std::vector<LossOptions> variants = {
      {},
      {.normalisation = "seq_mean"},
      {.kl_coefficient = 0.1, .entropy_coefficient = 0.2, .normalisation = "constant", .constant = 7},
      {.ratio = "sequence", .importance_cap = 2, .normalisation = "seq_mean"},
  };
  return variants;
}

}  // namespace temper::trainer
