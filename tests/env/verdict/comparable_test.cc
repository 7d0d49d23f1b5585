#include "env/verdict/comparable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "env/verdict/verdict.h"
#include "env/verdict/verdict_cache.h"

namespace temper::env {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

ComparableResult mismatch() {
  ComparableResult result;
  result.compiled = true;
  result.trials_right = 3;
  result.trials = 5;
  result.max_difference = {0.25, kInfinite, std::nan("")};
  result.avg_difference = {0.125, -kInfinite, 0};
  result.issue = "Output mismatch";
  return result;
}

ComparableResult timed() {
  ComparableResult result;
  result.compiled = result.correctness = true;
  result.trials_right = result.trials = 5;
  result.runtime = {0.5, 0.01, 0.49, 0.61, 100};
  result.ref_runtime = {6, 0.1, 5.9, 6.3, 100};
  result.excessive_speedup = true;
  return result;
}

Verdict with(const ComparableResult& result) {
  Verdict verdict = verdict_of(VerdictKind::kFailIncorrect, "tolerance");
  verdict.comparable = result;
  return verdict;
}

TEST(Comparable, ComesBackFromAVerdictsJson) {
  const VerdictRead read = parse_verdict(nlohmann::json(with(mismatch())).dump());
  ASSERT_TRUE(read.verdict) << read.error;
  const ComparableResult& got = read.verdict->comparable.value();
  EXPECT_TRUE(got.compiled && !got.correctness && !got.excessive_speedup && !got.timed_out);
  EXPECT_EQ(got.trials_right, 3);
  EXPECT_EQ(got.trials, 5);
  ASSERT_EQ(got.max_difference.size(), 3);
  EXPECT_EQ(got.max_difference[0], 0.25);
  EXPECT_EQ(got.max_difference[1], kInfinite);
  EXPECT_TRUE(std::isnan(got.max_difference[2]));
  EXPECT_EQ(got.avg_difference, (std::vector<double>{0.125, -kInfinite, 0}));
  EXPECT_EQ(got.issue, "Output mismatch");
  EXPECT_FALSE(got.runtime.timed());
}

TEST(Comparable, ComesBackFromTheCacheWithItsTimes) {
  VerdictCache cache("");
  cache.add("digest", with(timed()));
  const ComparableResult got = cache.find("digest").value().comparable.value();
  EXPECT_TRUE(got.correctness && got.excessive_speedup);
  EXPECT_EQ(got.runtime.mean, 0.5);
  EXPECT_EQ(got.runtime.num_trials, 100);
  EXPECT_EQ(got.ref_runtime.max, 6.3);
}

TEST(Comparable, AVerdictWithoutOneHasNone) {
  const nlohmann::json json = verdict_of(VerdictKind::kFailParse, "no_entry_point");
  EXPECT_FALSE(json.contains("comparable"));
  EXPECT_FALSE(parse_verdict(json.dump()).verdict->comparable.has_value());
}

TEST(Comparable, LongTextsAndListsAreCut) {
  ComparableResult result = mismatch();
  result.error = std::string(kMaxComparableText + 1, 'x');
  result.max_difference.assign(kMaxComparableTrials + 1, 1);
  const ComparableResult got = nlohmann::json(result).get<ComparableResult>();
  EXPECT_EQ(got.error.size(), kMaxComparableText);
  EXPECT_EQ(got.max_difference.size(), kMaxComparableTrials);
}

TEST(Comparable, WhatCannotBeIsRefused) {
  const auto refused = [](const char* key, const nlohmann::json& value) {
    nlohmann::json json = with(timed());
    json["comparable"][key] = value;
    return !parse_verdict(json.dump()).verdict.has_value();
  };
  EXPECT_TRUE(refused("trials", -1));
  EXPECT_TRUE(refused("trials", 1.5));
  EXPECT_TRUE(refused("max_difference", {"much"}));
  EXPECT_TRUE(refused("max_difference", nlohmann::json::array_t(1000, 1)));
  EXPECT_TRUE(refused("runtime", {{"mean", -1}, {"std", 0}, {"min", 0}, {"max", 0}, {"num_trials", 1}}));
  EXPECT_TRUE(refused("runtime", {{"mean", 1}, {"std", 0}, {"min", 0}, {"max", 0}, {"num_trials", -1}}));
  EXPECT_TRUE(refused("compiled", 1));
  EXPECT_FALSE(refused("trials", 4));
}

// By hand: mean 2.34567, deviations −1.23333…, so the population's deviation is 1.0069…
TEST(Comparable, StatisticsHaveThreeDigits) {
  const RuntimeStats stats = runtime_stats({1.11234, 2.34567, 3.57900});
  EXPECT_EQ(stats.mean, 2.35);
  EXPECT_EQ(stats.std, 1.01);
  EXPECT_EQ(stats.min, 1.11);
  EXPECT_EQ(stats.max, 3.58);
  EXPECT_EQ(stats.num_trials, 3);
  EXPECT_FALSE(runtime_stats({}).timed());
}

}  // namespace
}  // namespace temper::env
