#include "trainer/learn/optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/policy/small_model.h"

namespace temper::trainer {

using policy::DType;
using policy::ParameterInfo;
using policy::ParameterStore;

namespace {

ParameterStore tiny_store(DType dtype) {
  ParameterStore store(policy::small_config(), dtype, at::kCPU);
  store.init_random(1);
  return store;
}

// Three updates of every parameter beside ATen's own AdamW.
void compare_with_torch(DType dtype, double tolerance) {
  at::manual_seed(0);
  ParameterStore store = tiny_store(dtype);
  AdamW optimizer(store, {.weight_decay = 0.1, .clip = 0});
  std::vector<at::Tensor> weights, moment1, moment2, steps;
  for (const ParameterInfo& p : store.parameters()) {
    weights.push_back(store.weight(p.name).clone());
    moment1.push_back(at::zeros_like(weights.back()));
    moment2.push_back(at::zeros_like(weights.back()));
    steps.push_back(at::zeros({}, at::kFloat));
  }
  for (int update = 0; update < 3; ++update) {
    store.gradients().normal_();
    for (size_t i = 0; i < weights.size(); ++i) {
      steps[i].add_(1);
      const ParameterInfo& p = store.parameters()[i];
      const at::Tensor gradient = store.gradient(p.name).clone();
      at::_fused_adamw_({weights[i]}, {gradient}, {moment1[i]}, {moment2[i]}, {}, {steps[i]}, 0.01, 0.9,
                        0.999, p.decays ? 0.1 : 0.0, 1e-8, false, false);
    }
    optimizer.update(0.01);
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    const ParameterInfo& p = store.parameters()[i];
    EXPECT_LT((store.weight(p.name) - weights[i]).abs().max().item<double>(), tolerance) << p.name;
  }
}

TEST(AdamW, EqualsTorch) {
  compare_with_torch(DType::kF64, 1e-12);
  compare_with_torch(DType::kF32, 1e-6);
}

TEST(AdamW, FirstUpdateMovesByTheLearningRate) {
  // m̂ = g, v̂ = g²: the step is lr · g / (|g| + ε), whatever the size of g.
  ParameterStore store = tiny_store(DType::kF64);
  AdamW optimizer(store, {.weight_decay = 0, .clip = 0});
  const at::Tensor before = store.weights().clone();
  store.gradients().fill_(-7);
  optimizer.update(0.25);
  EXPECT_LT((store.weights() - before - 0.25).abs().max().item<double>(), 1e-8);
  EXPECT_EQ(store.gradients().abs().max().item<double>(), 0);
  EXPECT_EQ(optimizer.updates(), 1);
}

TEST(AdamW, DecayShrinksMatricesOnly) {
  ParameterStore store = tiny_store(DType::kF64);
  AdamW optimizer(store, {.weight_decay = 0.5});
  const at::Tensor before = store.weights().clone();
  store.gradients().zero_();
  optimizer.update(0.1);
  for (const ParameterInfo& p : store.parameters()) {
    const at::Tensor expected = before.narrow(0, p.offset, p.size) * (p.decays ? 0.95 : 1.0);  // 1 − 0.1·0.5
    EXPECT_LT((store.weights().narrow(0, p.offset, p.size) - expected).abs().max().item<double>(), 1e-15)
        << p.name;
  }
}

TEST(AdamW, ClipsByTheGlobalNorm) {
  ParameterStore store = tiny_store(DType::kF64);
  AdamW optimizer(store, {.clip = 0.5});
  store.gradients().zero_();
  store.gradients()[0] = 3;
  store.gradients()[-1] = 4;
  EXPECT_DOUBLE_EQ(optimizer.update(0), 5);
  // (1 − 0.9) · 3 · 0.5/5
  EXPECT_NEAR(store.moment1()[0].item<double>(), 0.03, 1e-15);
  EXPECT_NEAR(store.moment1()[-1].item<double>(), 0.04, 1e-15);
  // A smaller norm is left alone.
  optimizer.reset();
  store.gradients()[0] = 0.3;
  EXPECT_DOUBLE_EQ(optimizer.update(0), 0.3);
  EXPECT_NEAR(store.moment1()[0].item<double>(), 0.03, 1e-15);
}

TEST(AdamW, AGradientThatIsNotFiniteChangesNothing) {
  ParameterStore store = tiny_store(DType::kF32);
  AdamW optimizer(store, {});
  const at::Tensor before = store.weights().clone();
  store.gradients()[3] = std::nan("");
  EXPECT_FALSE(std::isfinite(optimizer.update(1)));
  EXPECT_TRUE(store.weights().equal(before));
  EXPECT_EQ(store.moment2().abs().max().item<double>(), 0);
  EXPECT_EQ(store.gradients().abs().max().item<double>(), 0);
  EXPECT_EQ(optimizer.updates(), 0);
}

// Updates with gradients of the given norms; 1 for each that was skipped.
std::vector<bool> skipped_of(ParameterStore& store, AdamW& optimizer, const std::vector<double>& norms) {
  std::vector<bool> skipped;
  for (const double norm : norms) {
    store.gradients().zero_();
    store.gradients()[0] = norm;
    const at::Tensor before = store.weights().clone();
    const int64_t updates = optimizer.updates();
    EXPECT_DOUBLE_EQ(optimizer.update(0.1), norm);
    skipped.push_back(!optimizer.skipped().empty());
    EXPECT_EQ(store.weights().equal(before), skipped.back()) << norm;
    EXPECT_EQ(optimizer.updates(), updates + (skipped.back() ? 0 : 1));
    EXPECT_EQ(store.gradients().abs().max().item<double>(), 0);
  }
  return skipped;
}

TEST(AdamW, ASpikeChangesNothing) {
  ParameterStore store = tiny_store(DType::kF64);
  AdamW optimizer(store, {.max_spike = 5});
  // Of fewer norms than 8 none is a spike.
  EXPECT_EQ(skipped_of(store, optimizer, {1, 90, 1, 0, 1, 0, 0}), std::vector<bool>(7, false));
  EXPECT_EQ(skipped_of(store, optimizer, std::vector<double>(12, 2)), std::vector<bool>(12, false));
  EXPECT_EQ(skipped_of(store, optimizer, {10, 10.1, 0.01, 1e6, 2}), (std::vector<bool>{0, 1, 0, 1, 0}));
  EXPECT_EQ(skipped_of(store, optimizer, {1e6}), std::vector<bool>{true});
  EXPECT_EQ(optimizer.skipped(), "the gradient's norm of 1e+06 is 5e+05 times the median of the latest");
  // What stays high is no spike for long.
  const std::vector<bool> high = skipped_of(store, optimizer, std::vector<double>(30, 300));
  EXPECT_TRUE(high.front());
  EXPECT_LT(std::ranges::count(high, true), 9);
  EXPECT_FALSE(high.back());

  AdamW strict(store, {.max_spike = 0.5});
  EXPECT_EQ(skipped_of(store, strict, std::vector<double>(7, 1)), std::vector<bool>(7, false));

  AdamW without(store, {});
  EXPECT_EQ(skipped_of(store, without, std::vector<double>(20, 1)), std::vector<bool>(20, false));
  EXPECT_EQ(skipped_of(store, without, {1e6}), std::vector<bool>{false});
  EXPECT_TRUE(without.norms().empty());
}

TEST(AdamW, WhatASpikeIsGoesOnAfterAStop) {
  ParameterStore store = tiny_store(DType::kF64), twin = tiny_store(DType::kF64);
  AdamW optimizer(store, {.max_spike = 5}), resumed(twin, {.max_spike = 5});
  skipped_of(store, optimizer, std::vector<double>(40, 2));
  EXPECT_EQ(optimizer.norms().size(), 16u);
  resumed.restore(optimizer.updates(), optimizer.norms());
  const std::vector<double> more = {11, 9, 1, 11, 3};
  EXPECT_EQ(skipped_of(store, optimizer, more), (std::vector<bool>{1, 0, 0, 1, 0}));
  EXPECT_EQ(skipped_of(twin, resumed, more), (std::vector<bool>{1, 0, 0, 1, 0}));
  resumed.reset();
  EXPECT_EQ(skipped_of(twin, resumed, {1e6}), std::vector<bool>{false});
}

TEST(Schedule, WarmsUpThenDecays) {
  const auto lr = [](const std::string& schedule, double progress) {
    return learning_rate({.lr = 2, .schedule = schedule, .warmup = 0.2, .final_lr = 0.1}, progress);
  };
  for (const std::string schedule : {"constant", "linear", "cosine"}) {
    EXPECT_DOUBLE_EQ(lr(schedule, 0.05), 0.5) << schedule;  // 2 · 0.05/0.2
    EXPECT_DOUBLE_EQ(lr(schedule, 0.2), 2) << schedule;
  }
  EXPECT_DOUBLE_EQ(lr("constant", 1), 2);
  EXPECT_DOUBLE_EQ(lr("linear", 0.4), 1.55);  // a quarter done: 2·(0.1 + 0.9·0.75)
  EXPECT_DOUBLE_EQ(lr("linear", 1), 0.2);
  EXPECT_NEAR(lr("cosine", 0.4), 2 * (0.1 + 0.9 * 0.5 * (1 + std::sqrt(0.5))), 1e-12);  // cos(π/4) = √½
  EXPECT_DOUBLE_EQ(lr("cosine", 1), 0.2);
}

}  // namespace
}  // namespace temper::trainer
