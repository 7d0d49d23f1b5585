#include "trainer/learn/optimizer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

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
