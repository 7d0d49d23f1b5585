#include "trainer/learn/utilisation.h"

#include <gtest/gtest.h>

#include "policy/layouts.h"
#include "tests/policy/small_model.h"
#include "tests/trainer/fixtures.h"
#include "trainer/plan/machine.h"

namespace temper::trainer {

using policy::forward_flops;
using policy::small_config;

namespace {

// By hand, of two blocks with D = 20, H = 4, K = 2, hd = 6, F = 28 and V = 37. Multiply-adds of a block's
// products: q and o 20·24 each, k and v 20·12 each, gate, up and down 20·28 each.
constexpr double kBlocks = 2 * (2 * 480 + 2 * 240 + 3 * 560);
constexpr double kHead = 37 * 20;
// A key of one layer: H·hd multiply-adds for its score, as many for its value.
constexpr double kKey = 2 * 24;

TEST(ModelFlops, CountProductsHeadAndTheCausalHalfOfAttention) {
  const double attention = 2 * kKey * (10.0 * 10.0 / 2);  // two layers
  EXPECT_EQ(forward_flops(small_config(), 10, 0), 2 * (10 * kBlocks + attention));
  EXPECT_EQ(forward_flops(small_config(), 10, 4), 2 * (10 * kBlocks + 4 * kHead + attention));
  EXPECT_EQ(forward_flops(small_config(), 0, 0), 0);
}

TEST(ModelFlops, ATiedHeadIsComputedAsAnUntiedOneIs) {
  EXPECT_EQ(forward_flops(small_config(false), 10, 4), forward_flops(small_config(true), 10, 4));
  EXPECT_EQ(small_config(false).parameter_count(), small_config(true).parameter_count() + 37 * 20);
}

TEST(ModelFlops, AWindowBoundsTheKeys) {
  policy::ModelConfig config = small_config();
  config.sliding_window = 4;
  config.windowed = {1, 0};  // 10·4 − 4²/2 keys in the first layer
  EXPECT_EQ(forward_flops(config, 10, 0), 2 * (10 * kBlocks + kKey * (32 + 50)));
  EXPECT_EQ(forward_flops(config, 3, 0), 2 * (3 * kBlocks + kKey * (4.5 + 4.5)));
}

TEST(ModelFlops, AreThoseOfEachTokenTaken) {
  EXPECT_EQ(3 * forward_flops(small_config(), 10, 10), 10 * policy::train_flops_per_token(small_config(), 5));
}

TEST(ModelFlops, OfGenerationAreThoseOfTheTokensDrawn) {
  rollout::Batch batch;
  batch.groups = {{.task = "a", .samples = {make_trajectory({failed(), passed(2)})}}};
  // Two turns of three tokens, drawn behind two and behind seven.
  const double keys = (5.0 * 5.0 - 2.0 * 2.0) / 2 + (10.0 * 10.0 - 7.0 * 7.0) / 2;
  EXPECT_EQ(generation_flops(small_config(), batch), 2 * (6 * (kBlocks + kHead) + 2 * kKey * keys));
}

TEST(ModelFlops, OfAnUpdateAreThoseOfRowsThatAreComputed) {
  policy::Policy policy(small_config(), {});
  policy.parameters().init_random(1);
  rollout::Batch batch;
  batch.step = 1;
  batch.groups = {{.task = "a", .samples = {make_trajectory({passed(2)}), make_trajectory({passed(1)})}}};
  const TurnValues advantages = {{values({1}), values({0})}};  // nothing is learned from the second
  Learner learner(policy, {.epochs = 2}, {}, {}, {}, 1);
  const LearnStats stats = learner.update(batch, spread_over_tokens(batch, advantages));
  EXPECT_EQ(stats.idle_rows, 1);
  EXPECT_EQ(stats.packed_tokens, 2 * 5);
  EXPECT_EQ(stats.model_flops, 2 * 3 * 2 * (5 * kBlocks + 3 * kHead + 2 * kKey * 12.5));
}

TEST(Utilisation, IsOverSecondsDevicesAndPeak) {
  LearnStats learned;
  learned.model_flops = 6e12;
  learned.seconds = 2;
  Metrics m;
  add_utilisation(learned, 4e12, 8, {.count = 2, .peak_flops = 10e12}, m);
  EXPECT_EQ(m, (Metrics{{"throughput/model_tflops", 1.5},
                        {"throughput/mfu", 0.15},
                        {"throughput/gen_model_tflops", 0.25},
                        {"throughput/gen_mfu", 0.025}}));
}

TEST(Utilisation, IsNoShareWhereThePeakIsNotKnown) {
  LearnStats learned;
  learned.model_flops = 6e12;
  learned.seconds = 2;
  Metrics m;
  add_utilisation(learned, 0, 0, {}, m);
  EXPECT_EQ(m, (Metrics{{"throughput/model_tflops", 3}}));
}

TEST(Utilisation, IsLeftOutWhereNothingWasComputed) {
  LearnStats learned;
  learned.seconds = 2;
  Metrics m;
  add_utilisation(learned, 0, 8, {.count = 1, .peak_flops = 10e12}, m);
  EXPECT_TRUE(m.empty());
}

TEST(Utilisation, PeaksAreKnownByTheWholeName) {
  EXPECT_EQ(peak_flops("NVIDIA H100 80GB HBM3"), 989e12);
  EXPECT_EQ(peak_flops("NVIDIA H200"), 989e12);
  EXPECT_EQ(peak_flops("NVIDIA A100-SXM4-80GB"), 312e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), std::nullopt) << "a slice has a share of it";
  EXPECT_EQ(peak_flops(""), std::nullopt);
}

}  // namespace
}  // namespace temper::trainer
