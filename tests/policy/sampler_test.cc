#include "policy/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "base/rng.h"

namespace temper::policy {
namespace {

const std::vector<float> kLogits = {1.0f, 3.0f, -2.0f, 3.0f, 0.5f, 2.0f};

const std::vector<float> kDistinct = {1.0f, 3.2f, -2.0f, 3.0f, 0.5f, 2.0f};

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  std::vector<double> p;
  double sum = 0;
  for (float x : logits) sum += p.emplace_back(std::exp(double(x) / temperature));
  for (double& x : p) x /= sum;
  return p;
}

std::set<int32_t> reachable(const SamplingParams& params, const std::vector<float>& logits = kDistinct) {
  std::set<int32_t> ids;
  for (int i = 0; i < 2000; ++i) ids.insert(sample_token(logits, params, i / 2000.0).id);
  return ids;
}

TEST(Sampler, GreedyTakesTheLowerIdOfATie) {
  const SampledToken token = sample_token(kLogits, {.temperature = 0}, 0.99);
  EXPECT_EQ(token.id, 1);
  EXPECT_NEAR(token.log_prob, std::log(softmax(kLogits, 1)[1]), 1e-6);
}

TEST(Sampler, TheGreedyTokenIsOneOfTheWholeDistribution) {
  const SampledToken token = sample_token(kDistinct, {.temperature = 0, .top_p = 0.1, .top_k = 1}, 0.5);
  EXPECT_EQ(token.id, 1);
  EXPECT_NEAR(token.log_prob, std::log(softmax(kDistinct, 1)[1]), 1e-6);
}

TEST(Sampler, FollowsTheDistribution) {
  const double temperature = 1.3;
  const auto p = softmax(kLogits, temperature);
  std::vector<int> counts(p.size());
  const Rng rng{7};
  const int draws = 40000;
  for (int i = 0; i < draws; ++i)
    ++counts[size_t(sample_token(kLogits, {.temperature = temperature}, rng.uniform_at(uint64_t(i))).id)];
  double chi_square = 0;
  for (size_t i = 0; i < p.size(); ++i) chi_square += std::pow(counts[i] - draws * p[i], 2) / (draws * p[i]);
  EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom, one in a thousand
}

// Over all that can be drawn, the probabilities that are told add up to one.
TEST(Sampler, LogProbIsOfTheDistributionThatIsDrawnFrom) {
  const auto p = softmax(kDistinct, 0.7);  // 0.48, 0.36, 0.09, …: the first two hold 0.8 of the first three
  for (int i = 0; i < 50; ++i) {
    const SampledToken token =
        sample_token(kDistinct, {.temperature = 0.7, .top_p = 0.9, .top_k = 3}, i / 50.0);
    EXPECT_NEAR(token.log_prob, std::log(p[size_t(token.id)] / (p[1] + p[3])), 1e-6);
  }
  const SampledToken whole = sample_token(kDistinct, {.temperature = 0.7}, 0.5);
  EXPECT_NEAR(whole.log_prob, std::log(p[size_t(whole.id)]), 1e-6);
}

TEST(Sampler, WhatIsLeftIsDrawnInProportion) {
  const SamplingParams params = {.temperature = 1.3, .top_k = 3};
  const auto p = softmax(kDistinct, 1.3);
  const double left = p[1] + p[3] + p[5];
  std::vector<int> counts(p.size());
  const Rng rng{8};
  const int draws = 40000;
  for (int i = 0; i < draws; ++i)
    ++counts[size_t(sample_token(kDistinct, params, rng.uniform_at(uint64_t(i))).id)];
  double chi_square = 0;
  for (const size_t i : {1, 3, 5})
    chi_square += std::pow(counts[i] - draws * p[i] / left, 2) / (draws * p[i] / left);
  EXPECT_LT(chi_square, 13.8);  // 2 degrees of freedom, one in a thousand
}

TEST(Sampler, EqualLogitsAreKeptTogether) {
  EXPECT_EQ(reachable({.top_k = 1}, kLogits), (std::set<int32_t>{1, 3}));
  EXPECT_EQ(reachable({.top_p = 0.1}, kLogits), (std::set<int32_t>{1, 3}));
  const SampledToken token = sample_token(kLogits, {.top_k = 1}, 0.3);
  EXPECT_NEAR(token.log_prob, std::log(0.5), 1e-6);
}

TEST(Sampler, TopKKeepsTheLargest) {
  EXPECT_EQ(reachable({.top_k = 1}), (std::set<int32_t>{1}));
  EXPECT_EQ(reachable({.top_k = 2}), (std::set<int32_t>{1, 3}));
  EXPECT_EQ(reachable({.top_k = 3}), (std::set<int32_t>{1, 3, 5}));
  EXPECT_EQ(reachable({.top_k = 100}).size(), 6u);
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  const auto p = softmax(kDistinct, 1);
  EXPECT_EQ(reachable({.top_p = p[1] - 0.01}), (std::set<int32_t>{1}));
  EXPECT_EQ(reachable({.top_p = p[1] + 0.01}), (std::set<int32_t>{1, 3}));
  EXPECT_EQ(reachable({.top_p = p[1] + p[3] + 0.01}), (std::set<int32_t>{1, 3, 5}));
}

TEST(Sampler, TopPCountsAfterTopK) {
  // Of the two that top-k leaves, the first holds 1 / (1 + e^−0.2) = 0.55.
  EXPECT_EQ(reachable({.top_p = 0.54, .top_k = 2}), (std::set<int32_t>{1}));
  EXPECT_EQ(reachable({.top_p = 0.56, .top_k = 2}), (std::set<int32_t>{1, 3}));
}

TEST(Sampler, NeverGivesAnImpossibleToken) {
  const std::vector<float> logits = {-200.0f, 0.0f, -200.0f};
  for (double u : {0.0, 0.5, std::nextafter(1.0, 0.0)}) EXPECT_EQ(sample_token(logits, {}, u).id, 1);
}

}  // namespace
}  // namespace temper::policy
