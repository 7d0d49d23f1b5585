#include "trainer/algorithm/advantage.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/trainer/fixtures.h"

namespace temper::trainer {

using rollout::Role;

namespace {

// Advantages of one group, [sample][turn], code stream.
std::vector<std::vector<double>> advantages(const AdvantageOptions& options, const GroupValues& returns) {
  std::vector<std::vector<double>> result;
  const TurnValues batch = compute_advantages(options, {returns});
  for (const SampleValues& sample : batch[0]) result.push_back(codes(sample));
  return result;
}

void expect_near(const std::vector<std::vector<double>>& actual,
                 const std::vector<std::vector<double>>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t n = 0; n < actual.size(); ++n) {
    ASSERT_EQ(actual[n].size(), expected[n].size());
    for (size_t t = 0; t < actual[n].size(); ++t)
      EXPECT_NEAR(actual[n][t], expected[n][t], 2e-6) << n << ", " << t;
  }
}

// Two turns of three samples. Turn 1: 0, 1, 2 (mean 1, std 1). Turn 2: 4, 4, 1 (mean 3, std √3).
GroupValues two_turns() { return {values({0, 4}), values({1, 4}), values({2, 1})}; }

TEST(Advantage, GrpoNormalisesPerTaskAndTurn) {
  const double third = 1 / std::sqrt(3.0);
  expect_near(advantages({.name = "grpo"}, two_turns()), {{-1, third}, {0, third}, {1, -2 * third}});
}

TEST(Advantage, GrpoPooledNormalisesOverAllTurnsOfATask) {
  // 0, 4, 1, 4, 2, 1: mean 2, squares 4 + 4 + 1 + 4 + 0 + 1 = 14, std √(14/5)
  const double deviation = std::sqrt(14.0 / 5);
  expect_near(advantages({.name = "grpo", .pool = "task"}, two_turns()),
              {{-2 / deviation, 2 / deviation}, {-1 / deviation, 2 / deviation}, {0, -1 / deviation}});
}

TEST(Advantage, DrGrpoOnlyCentres) {
  expect_near(advantages({.name = "dr_grpo"}, two_turns()), {{-1, 1}, {0, 1}, {1, -2}});
}

TEST(Advantage, LeaveOneOut) {
  // Turn 1: 0 − 3/2, 1 − 2/2, 2 − 1/2. Turn 2: 4 − 5/2, 4 − 5/2, 1 − 8/2.
  const std::vector<std::vector<double>> expected = {{-1.5, 1.5}, {0, 1.5}, {1.5, -3}};
  expect_near(advantages({.name = "rloo"}, two_turns()), expected);
  expect_near(advantages({.name = "trloo", .pool = "task"}, two_turns()), expected);
  // All six: G − (12 − G)/5 = (6·G − 12)/5.
  expect_near(advantages({.name = "rloo", .pool = "task"}, two_turns()),
              {{-2.4, 2.4}, {-1.2, 2.4}, {0, -1.2}});
}

TEST(Advantage, TrlooCountsOnlySamplesThatReachTheTurn) {
  // Turn 1: 1 − 3/2, 3 − 1/2, 0 − 4/2. Turn 2 has one sample: A = G.
  expect_near(advantages({.name = "trloo"}, {values({1}), values({3, 5}), values({0})}),
              {{-0.5}, {2.5, 5}, {-2}});
}

TEST(Advantage, DroppedTurnsAreInNoBaseline) {
  GroupValues returns = {values({0}), values({1}), values({2}), values({1000})};
  returns[3][0].kept = false;
  for (const std::string name : {"grpo", "dr_grpo", "reinforce++"})
    expect_near(advantages({.name = name, .whiten_over = "turns"}, returns), {{-1}, {0}, {1}, {0}});
  for (const std::string name : {"rloo", "trloo"})
    expect_near(advantages({.name = name}, returns), {{-1.5}, {0}, {1.5}, {0}});
  EXPECT_FALSE(compute_advantages({}, {returns})[0][3][0].kept);
}

// Returns 0, 2, 4, 6 of answers with 100, 100, 100, 2000 tokens: mean 12600 / 2300 = 5.478, variance
// (100·5.478² + 100·3.478² + 100·1.478² + 2000·0.522²) / 2299 = 2.1632.
TEST(Advantage, ReinforcePlusPlusWhitensOverTokens) {
  const TurnValues returns = {{values({0}), values({2})}, {values({4}), values({6})}};
  const BatchTokens tokens = {{{{40, 60}}, {{0, 100}}}, {{{100, 0}}, {{1000, 1000}}}};
  const TurnValues plain = compute_advantages({.name = "reinforce++"}, returns, tokens);
  const double expected[] = {-3.7246, -2.3648, -1.0050, 0.3547};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(plain[i / 2][i % 2][0].code, expected[i], 1e-3) << i;
    EXPECT_EQ(plain[i / 2][i % 2][0].plan, plain[i / 2][i % 2][0].code);
  }
  // Over tokens the mean is 0 and the mean square (T − 1) / T.
  double sum = 0, squares = 0;
  for (size_t i = 0; i < 4; ++i) {
    const TurnTokens& n = tokens[i / 2][i % 2][0];
    const double a = plain[i / 2][i % 2][0].code, count = double(n.plan + n.code);
    sum += count * a, squares += count * a * a;
  }
  EXPECT_NEAR(sum, 0, 1e-9);
  EXPECT_NEAR(squares, 2299, 1e-3);
  // Centred per task first: −1, 1, −1, 1; mean (−100 + 100 − 100 + 2000) / 2300, a half of it by tokens.
  const TurnValues centred = compute_advantages({.name = "reinforce++_baseline"}, returns, tokens);
  const double mean = 1900.0 / 2300, deviation = std::sqrt(2300 * (1 - mean * mean) / 2299);
  EXPECT_NEAR(centred[0][0][0].code, (-1 - mean) / deviation, 1e-6);
  EXPECT_NEAR(centred[1][1][0].code, (1 - mean) / deviation, 1e-6);
}

TEST(Advantage, WhitenedTokensOfBothRolesAreOnePoolButUnderHrd) {
  // Plan 0 and 4, code 1 and 1, ten tokens each.
  const TurnValues returns = {{{{.plan = 0, .code = 1}}, {{.plan = 4, .code = 1}}}};
  const BatchTokens tokens = {{{{10, 10}}, {{10, 10}}}};
  const TurnValues one = compute_advantages({.name = "reinforce++"}, returns, tokens);
  const double deviation = std::sqrt((10 * (2.25 + 6.25) + 20 * 0.25) / 39);  // mean 1.5
  EXPECT_NEAR(one[0][0][0].plan, -1.5 / deviation, 1e-6);
  EXPECT_NEAR(one[0][0][0].code, -0.5 / deviation, 1e-6);
  const TurnValues apart =
      compute_advantages({.name = "hrd", .plan_weight = 1, .hrd_baseline = "reinforce++"}, returns, tokens);
  EXPECT_NEAR(apart[0][0][0].plan, -2 / std::sqrt(80.0 / 19), 1e-6);
  EXPECT_EQ(apart[0][0][0].code, 0);
}

TEST(Advantage, TokensAreCountedByRole) {
  rollout::Trajectory trajectory = make_trajectory({passed(1), failed()}, 3, 4);
  trajectory.segments[0].append({1}, Role::kRequest);
  trajectory.turns[1].summary = {int32_t(trajectory.segments[0].ids.size()), 0};
  trajectory.segments[0].append({2, 3}, Role::kSummary);
  trajectory.turns[1].summary.end = int32_t(trajectory.segments[0].ids.size());
  const BatchTokens tokens = count_tokens({0, {{"a", {trajectory}}}});
  EXPECT_EQ(tokens[0][0][0].plan, 3);
  EXPECT_EQ(tokens[0][0][0].code, 4);
  EXPECT_EQ(tokens[0][0][1].plan, 5);
  EXPECT_EQ(tokens[0][0][1].code, 4);
}

TEST(Advantage, ReinforcePlusPlusWhitensOverTheTurnsOfTheWholeBatch) {
  // 0, 2 | 4, 6: mean 3, squares 9 + 1 + 1 + 9 = 20, std √(20/3)
  const TurnValues returns = {{values({0}), values({2})}, {values({4}), values({6})}};
  const double deviation = std::sqrt(20.0 / 3);
  const TurnValues plain = compute_advantages({.name = "reinforce++", .whiten_over = "turns"}, returns);
  EXPECT_NEAR(plain[0][0][0].code, -3 / deviation, 1e-6);
  EXPECT_NEAR(plain[1][0][0].code, 1 / deviation, 1e-6);
  // Centred per task first: −1, 1, −1, 1; std √(4/3).
  const TurnValues centred =
      compute_advantages({.name = "reinforce++_baseline", .whiten_over = "turns"}, returns);
  EXPECT_NEAR(centred[0][0][0].code, -std::sqrt(0.75), 1e-6);
  EXPECT_NEAR(centred[1][1][0].code, std::sqrt(0.75), 1e-6);
}

TEST(Advantage, RejectionSamplingImitatesWhatEarnedSomething) {
  const TurnValues kept = compute_advantages({.name = "rft"}, {{values({0, 4}), values({-0.5, 0.1})}});
  for (const SampleValues& sample : kept[0]) {
    EXPECT_FALSE(sample[0].kept);
    EXPECT_EQ(sample[0].code, 0);
    EXPECT_TRUE(sample[1].kept);
    EXPECT_EQ(sample[1].code, 1);
    EXPECT_EQ(sample[1].plan, 1);
  }
}

TEST(Advantage, HrdNormalisesTheStreamsApartAndWeighsThePlan) {
  // Plan 0, 2, 4: mean 2, std 2. Code 0, 1, 1: mean 2/3, std √(1/3).
  const GroupValues returns = {{{.plan = 0, .code = 0}}, {{.plan = 2, .code = 1}}, {{.plan = 4, .code = 1}}};
  const GroupValues result = compute_advantages({.name = "hrd", .plan_weight = 0.1}, {returns})[0];
  EXPECT_NEAR(result[0][0].plan, -0.1, 1e-6);
  EXPECT_NEAR(result[2][0].plan, 0.1, 1e-6);
  EXPECT_NEAR(result[0][0].code, -2.0 / 3 * std::sqrt(3.0), 1e-5);
  EXPECT_NEAR(result[1][0].code, 1.0 / 3 * std::sqrt(3.0), 1e-5);
  // With leave-one-out: plan 0.1·(4 − 1), code 0 − 1.
  const GroupValues other = compute_advantages({.name = "hrd", .hrd_baseline = "trloo"}, {returns})[0];
  EXPECT_NEAR(other[2][0].plan, 0.3, 1e-12);
  EXPECT_NEAR(other[0][0].code, -1, 1e-12);
}

TEST(Advantage, HrdHoldsAnAnswerWithoutCodeFullyAgainstIt) {
  const GroupValues returns = {{{.plan = 0, .code = 0}}, {{.plan = 2, .code = 1}}, {{.plan = 4, .code = 1}}};
  const BatchTokens tokens = {{{{.plan = 9, .code = 0}}, {{.plan = 5, .code = 4}}, {{.plan = 5, .code = 4}}}};
  const GroupValues result = compute_advantages({.name = "hrd"}, {returns}, tokens)[0];
  EXPECT_NEAR(result[0][0].plan, -1, 1e-6);
  EXPECT_NEAR(result[2][0].plan, 0.1, 1e-6);
}

// A policy answers 1 (reward 1) with probability p = σ(θ), else 0 (reward 0): d log π / dθ = answer − p,
// dJ/dθ = p(1 − p). The expected gradient estimate over all 2^N samples of a group, exactly.
double expected_gradient(const std::string& name, int n, double p) {
  double expected = 0;
  for (int draw = 0; draw < 1 << n; ++draw) {
    GroupValues group;
    double probability = 1, gradient = 0;
    for (int i = 0; i < n; ++i) {
      const int answer = draw >> i & 1;
      group.push_back(values({double(answer)}));
      probability *= answer ? p : 1 - p;
    }
    const GroupValues result = compute_advantages({.name = name}, {group})[0];
    for (int i = 0; i < n; ++i) gradient += result[i][0].code * ((draw >> i & 1) - p) / n;
    expected += probability * gradient;
  }
  return expected;
}

TEST(Advantage, LeaveOneOutIsUnbiasedAndTheGroupMeanShrinksTheGradient) {
  const double p = 0.3, truth = p * (1 - p);
  for (int n : {1, 2, 3, 5}) EXPECT_NEAR(expected_gradient("trloo", n, p), truth, 1e-12) << n;
  for (int n : {2, 3, 5}) EXPECT_NEAR(expected_gradient("dr_grpo", n, p), (1 - 1.0 / n) * truth, 1e-12) << n;
}

TEST(Advantage, SignalIsLookedForAtEveryTurn) {
  EXPECT_FALSE(has_signal({values({1, 0}), values({1, 0})}));
  EXPECT_TRUE(has_signal({values({1, 0}), values({1, 2})}));
  GroupValues returns = {values({1}), values({2})};
  returns[0][0].kept = false;
  EXPECT_FALSE(has_signal(returns));
}

TEST(Advantage, TokensGetTheirRolesAdvantage) {
  rollout::Batch batch;
  batch.groups = {
      {.task = "t", .samples = {make_trajectory({failed(), passed(1), failed(env::VerdictKind::kInfra)})}}};
  batch.groups[0].samples[0].turns[1].stopped = false;
  TurnValues advantages = {
      {{{.plan = 1, .code = 2}, {.plan = 3, .code = 4}, {.plan = 0, .code = 0, .kept = false}}}};
  const RowAdvantages row = spread_over_tokens(batch, advantages)[0];
  EXPECT_EQ(row.advantage, std::vector<float>({0, 0, 1, 2, 2, 0, 0, 3, 4, 4, 0, 0, 0, 0, 0}));
  EXPECT_EQ(row.mask, std::vector<uint8_t>({0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0}));
  const RowAdvantages without = spread_over_tokens(batch, advantages, true)[0];
  EXPECT_EQ(without.mask, std::vector<uint8_t>({0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Advantage, SummariesGetThePlansAdvantageInTheirTurnsRow) {
  rollout::Trajectory trajectory = make_trajectory({passed(1)}, 1, 1);
  rollout::Segment& first = trajectory.segments[0];
  first.append({1}, Role::kRequest);
  trajectory.turns[0].summary = {5, 7};
  first.append({2, 3}, Role::kSummary);
  rollout::Segment second = rollout::begin_segment(0, first, 4);
  second.append({4}, Role::kFeedback);
  second.append({5}, Role::kCode);
  trajectory.segments.push_back(second);
  trajectory.turns.push_back({.segment = 1, .begin = 5, .end = 6, .stopped = true, .verdict = passed(1)});
  const rollout::Batch batch{0, {{"a", {trajectory}}}};
  const TokenAdvantages rows =
      spread_over_tokens(batch, {{{{.plan = 1, .code = 2}, {.plan = 3, .code = 4}}}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].advantage, std::vector<float>({0, 0, 1, 2, 0, 1, 1}));
  EXPECT_EQ(rows[0].mask, std::vector<uint8_t>({0, 0, 1, 1, 0, 1, 1}));
  EXPECT_EQ(rows[1].advantage, std::vector<float>({0, 0, 0, 0, 0, 4}));
  EXPECT_EQ(rows[1].mask, std::vector<uint8_t>({0, 0, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace temper::trainer
