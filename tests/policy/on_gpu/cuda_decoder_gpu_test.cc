// The decoder on a GPU: against the CPU's in f32, and against itself bit by bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "policy/cuda/device.h"
#include "policy/parameters/flat.h"
#include "tests/policy/on_gpu/decoder_twins.h"
#include "tests/policy/shared_prefixes.h"

namespace temper::policy {
namespace {

class CudaDecoder : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda::gpu_count() == 0) GTEST_SKIP() << "no GPU: " << cuda::no_gpu_reason();
    cuda::use_gpu(0);
  }
};

TEST_F(CudaDecoder, ScoresAsTheCpuDoes) {
  for (const bool tied : {true, false}) {
    Twins twins(gpu_config(tied));
    const PackedTokens pack = random_pack(kLengths, 1000, 3);
    for (const double temperature : {1.0, 0.7}) {
      const TokenScores truth = twins.cpu.forward(pack, temperature),
                        found = twins.gpu.forward(pack, temperature);
      EXPECT_LT(largest_difference(found.log_prob, truth.log_prob), 0.1) << temperature;
      EXPECT_LT(largest_difference(found.entropy, truth.entropy), 0.05) << temperature;
    }
  }
}

TEST_F(CudaDecoder, GradientsAreTheCpus) {
  for (const bool tied : {true, false}) {
    Twins twins(gpu_config(tied));
    const PackedTokens pack = random_pack(kLengths, 1000, 4);
    twins.cpu.forward_backward(pack, loss_gradient);
    twins.gpu.forward_backward(pack, loss_gradient);
    for (const ParameterInfo& p : twins.cpu.parameters().parameters())
      EXPECT_LT(norm_error(twins.gpu.parameters().gradient(p.name), twins.cpu.parameters().gradient(p.name)),
                0.04)
          << p.name;
  }
}

TEST_F(CudaDecoder, GradientsAddUpAndRepeatTheirBits) {
  Twins twins(gpu_config());
  const PackedTokens pack = random_pack(kLengths, 1000, 5);
  at::Tensor& gradients = twins.gpu.parameters().gradients();
  twins.gpu.forward_backward(pack, loss_gradient);
  const at::Tensor once = gradients.clone();
  twins.gpu.forward_backward(pack, loss_gradient);
  EXPECT_LT(norm_error(gradients, 2 * once.cpu()), 1e-6);
  gradients.zero_();
  twins.gpu.forward_backward(pack, loss_gradient);
  EXPECT_TRUE(at::equal(gradients, once));
  // Of another update: all of it takes the place of what is there.
  twins.gpu.parameters().finish_gradients();
  gradients.fill_(NAN);
  twins.gpu.forward_backward(pack, loss_gradient);
  EXPECT_TRUE(at::equal(gradients, once));
}

TEST_F(CudaDecoder, RecomputingAndChunkingChangeNoBits) {
  const PackedTokens pack = random_pack(kLengths, 1000, 6);
  Twins plain(gpu_config());
  const TokenScores scores = plain.gpu.forward_backward(pack, loss_gradient);
  PolicyOptions options = on_gpu();
  for (const char* part : {"feed_forward", "all"})
    for (const int64_t blocks : {1, 0}) {
      options.memory.recompute = part;
      options.memory.recompute_blocks = blocks;
      Twins recomputing(gpu_config(), options);
      EXPECT_EQ(recomputing.gpu.forward_backward(pack, loss_gradient).log_prob, scores.log_prob);
      EXPECT_TRUE(at::equal(recomputing.gpu.parameters().gradients(), plain.gpu.parameters().gradients()))
          << part << " of " << blocks;
      EXPECT_LT(recomputing.gpu.activation_bytes(1000, 900), plain.gpu.activation_bytes(1000, 900));
    }
  options.memory.logits_chunk = 100;
  Twins chunked(gpu_config(), options);
  EXPECT_EQ(chunked.gpu.forward(pack).log_prob, scores.log_prob);
  EXPECT_LT(plain.gpu.activation_bytes(1000, 900), 1 << 28);
}

// Of two packs, the second with more tokens. Blocks are so small that copies take longer than what computes beside them.
TEST_F(CudaDecoder, OffloadingChangesNoBits) {
  ModelConfig config = gpu_config();
  config.num_hidden_layers = 8;
  Twins plain(config);
  const PackedTokens packs[] = {random_pack(kLengths, 1000, 6), random_pack({900, 800, 700}, 1000, 7)};
  std::vector<TokenScores> scores;
  for (const PackedTokens& pack : packs) scores.push_back(plain.gpu.forward_backward(pack, loss_gradient));
  for (const char* part : {"feed_forward", "all"})
    for (const int64_t offloaded : {1, 2, 3, 7}) {
      PolicyOptions options = on_gpu();
      options.memory.recompute = part;
      options.memory.offload_activations = offloaded;
      Twins offloading(config, options);
      for (size_t i = 0; i < scores.size(); ++i)
        EXPECT_EQ(offloading.gpu.forward_backward(packs[i], loss_gradient).log_prob, scores[i].log_prob);
      EXPECT_TRUE(at::equal(offloading.gpu.parameters().gradients(), plain.gpu.parameters().gradients()))
          << part << ", " << offloaded << " blocks";
      EXPECT_LT(offloading.gpu.activation_bytes(1000, 900), plain.gpu.activation_bytes(1000, 900));
    }
}

// Prompts and answers around the borders of the library's tiles.
RowsWithPrefixes long_prompts_and_turns() {
  RowsWithPrefixes rows = prompts_and_turns(1000);
  rows.add(0, 500);
  for (const int64_t own : {129, 1, 400, 128, 33}) rows.add(383, own);
  rows.add(300, 700);
  return rows;
}

TEST_F(CudaDecoder, SharedPrefixesHaveTheBitsOfWholeSequences) {
  const RowsWithPrefixes rows = long_prompts_and_turns();
  const PackedTokens whole = rows.pack(false), shared = rows.pack(true);
  Twins twins(gpu_config());
  const TokenScores a = twins.gpu.forward(whole), b = twins.gpu.forward(shared);
  EXPECT_EQ(of_scored(whole, a.log_prob), of_scored(shared, b.log_prob));
  EXPECT_EQ(of_scored(whole, a.entropy), of_scored(shared, b.entropy));
}

TEST_F(CudaDecoder, SharedPrefixesHaveTheGradientOfWholeSequences) {
  const RowsWithPrefixes rows = long_prompts_and_turns();
  Twins twins(gpu_config());
  twins.cpu.forward_backward(rows.pack(false), loss_gradient);
  const at::Tensor want = twins.cpu.parameters().gradients(), &gradients = twins.gpu.parameters().gradients();
  twins.gpu.forward_backward(rows.pack(false), loss_gradient);
  const double of_whole = norm_error(gradients, want);
  for (const char* part : {"none", "feed_forward", "all"}) {
    PolicyOptions options = on_gpu();
    options.memory.recompute = part;
    Twins sharing(gpu_config(), options);
    const at::Tensor& got = sharing.gpu.parameters().gradients();
    sharing.gpu.forward_backward(rows.pack(true), loss_gradient);
    EXPECT_LT(norm_error(got, want), 1.2 * of_whole) << part;
    const at::Tensor once = got.clone();
    got.zero_();
    sharing.gpu.forward_backward(rows.pack(true), loss_gradient);
    EXPECT_TRUE(at::equal(got, once)) << part;
  }
}

TEST_F(CudaDecoder, PackingChangesNoBits) {
  Twins twins(gpu_config());
  const PackedTokens pack = random_pack(kLengths, 1000, 7);
  const TokenScores together = twins.gpu.forward(pack);
  for (size_t s = 0; s + 1 < pack.starts.size(); ++s) {
    const int32_t begin = pack.starts[s], end = pack.starts[s + 1];
    const PackedTokens alone{.ids = {pack.ids.begin() + begin, pack.ids.begin() + end},
                             .starts = {0, end - begin},
                             .scored = {pack.scored.begin() + begin, pack.scored.begin() + end}};
    const TokenScores scores = twins.gpu.forward(alone);
    EXPECT_TRUE(std::equal(scores.log_prob.begin(), scores.log_prob.end(), together.log_prob.begin() + begin))
        << "sequence " << s;
  }
}

TEST_F(CudaDecoder, SampledLogProbsHaveTheBitsOfTraining) {
  Twins twins(gpu_config());
  for (const int64_t batch : {1, 5, 32, 70, 256})
    expect_bits_of_training(twins.gpu, converse(twins.gpu, batch, {}), {});
  expect_bits_of_training(twins.gpu, converse(twins.gpu, 9, {.temperature = 0.6}), {.temperature = 0.6});
  expect_bits_of_training(twins.gpu, converse(twins.gpu, 9, {.temperature = 0}), {});
  for (const SamplingParams params : {SamplingParams{.temperature = 0.9, .top_p = 0.5},
                                      {.temperature = 0.8, .top_p = 0.95, .top_k = 40},
                                      {.top_k = 3}})
    for (const int64_t batch : {3, 70})
      expect_bits_of_training(twins.gpu, converse(twins.gpu, batch, params), params);
}

// Sequences of which some end, and begin again behind the first 150 tokens of another one; the policy may be
// told each next draw, also of those that then do not draw.
Sampled draw_tokens(Policy& policy, bool tell_next, const SamplingParams& params) {
  constexpr int64_t kBatch = 40, kShared = 150;
  KvCache cache(policy.config(), policy.options(), kBatch, 400);
  Sampled all{std::vector<std::vector<int32_t>>(kBatch), std::vector<std::vector<float>>(kBatch)};
  const auto uniform = [](int64_t i, size_t n) { return Rng(mix_key({7, uint64_t(i)})).uniform_at(n); };
  for (int64_t i = 0; i < kBatch; ++i) {
    all.ids[i] = random_ids(160 + 2 * i, 1000, uint64_t(i));
    all.log_probs[i].resize(all.ids[i].size(), 0);
  }
  for (int64_t round = 0; round < 90; ++round) {
    std::vector<Extension> extensions;
    std::vector<Draw> draws;
    for (int64_t i = 0; i < kBatch; ++i) {
      const bool ends = i % 5 == 1, away = ends && round > i && round <= i + 10;
      if (away) continue;
      if (ends && round == i + 11) {
        cache.copy_prefix(0, i, kShared);
        all.ids[i].assign(all.ids[0].begin(), all.ids[0].begin() + kShared + 1);
        all.log_probs[i].assign(all.ids[i].size(), 0);
      }
      const size_t n = all.ids[i].size();
      draws.push_back(
          {int64_t(extensions.size()), params, uniform(i, n), tell_next ? uniform(i, n + 1) : -1});
      extensions.push_back({i, std::span<const int32_t>(all.ids[i]).subspan(size_t(cache.length(i)))});
    }
    const auto tokens = policy.sample(cache, extensions, draws);
    for (size_t k = 0; k < tokens.size(); ++k) {
      all.ids[extensions[k].slot].push_back(tokens[k].id);
      all.log_probs[extensions[k].slot].push_back(tokens[k].log_prob);
    }
  }
  return all;
}

TEST_F(CudaDecoder, BeginningTheNextStepAheadChangesNothing) {
  Twins twins(gpu_config());
  for (const SamplingParams params : {SamplingParams{}, {.temperature = 0}, {.temperature = 1, .top_k = 5}}) {
    const Sampled told = draw_tokens(twins.gpu, true, params), untold = draw_tokens(twins.gpu, false, params);
    EXPECT_EQ(told.ids, untold.ids);
    EXPECT_EQ(told.log_probs, untold.log_probs);
    expect_bits_of_training(twins.gpu, told, params.temperature > 0 ? params : SamplingParams{});
  }
}

// A cache of other slots may lie where the one before lay.
TEST_F(CudaDecoder, CachesThatFollowEachOtherDoNotShareGraphs) {
  Twins twins(gpu_config());
  for (const int64_t batch : {40, 64, 33, 64, 40, 50, 64})
    expect_bits_of_training(twins.gpu, converse(twins.gpu, batch, {}), {});
}

TEST_F(CudaDecoder, ExtendsAsTheCpuDoes) {
  Twins twins(gpu_config());
  KvCache on_cpu(gpu_config(), {}, 3, 400), cache(gpu_config(), on_gpu(), 3, 400);
  for (const int64_t count : {130, 1, 20, 1}) {
    std::vector<std::vector<int32_t>> ids;
    std::vector<Extension> extensions;
    for (int64_t slot : {2, 0, 1}) ids.push_back(random_ids(count + slot, 1000, uint64_t(count * 7 + slot)));
    for (int64_t i = 0; i < 3; ++i) extensions.push_back({(i + 2) % 3, ids[size_t(i)]});
    const auto truth = twins.cpu.extend(on_cpu, extensions), found = twins.gpu.extend(cache, extensions);
    ASSERT_EQ(truth.size(), found.size());
    double most = 0;
    for (size_t i = 0; i < truth.size(); ++i) most = std::max(most, double(std::abs(truth[i] - found[i])));
    EXPECT_LT(most, 0.15) << count;
  }
}

TEST_F(CudaDecoder, ACopiedPrefixIsSharedUntilWrittenTo) {
  Twins twins(gpu_config());
  KvCache cache(gpu_config(), on_gpu(), 3, 400), apart(gpu_config(), on_gpu(), 3, 400);
  const auto prompt = random_ids(200, 1000, 1);
  const auto answers = {random_ids(70, 1000, 2), random_ids(70, 1000, 3), random_ids(70, 1000, 4)};
  const Extension first{0, prompt};
  twins.gpu.extend(cache, {&first, 1});
  for (int64_t slot : {1, 2}) cache.copy_prefix(0, slot, 200);
  std::vector<std::vector<float>> shared, own;
  int64_t slot = 0;
  for (const auto& answer : answers) {
    const Extension to_apart{slot, prompt}, behind{slot, answer};
    twins.gpu.extend(apart, {&to_apart, 1});
    const auto a = twins.gpu.extend(cache, {&behind, 1});
    shared.emplace_back(a.begin(), a.end());
    const auto b = twins.gpu.extend(apart, {&behind, 1});
    own.emplace_back(b.begin(), b.end());
    ++slot;
  }
  EXPECT_EQ(shared, own);
  cache.truncate(1, 150);
  const Extension again{1, std::span<const int32_t>(prompt).subspan(150)};
  const Extension whole{0, prompt};
  apart.truncate(0, 0);
  const auto a = twins.gpu.extend(cache, {&again, 1});
  const std::vector<float> rewound(a.begin(), a.end());
  const auto b = twins.gpu.extend(apart, {&whole, 1});
  EXPECT_EQ(rewound, std::vector<float>(b.begin(), b.end()));
}

TEST_F(CudaDecoder, PromisesExactness) {
  Policy policy(gpu_config(), on_gpu());
  policy.parameters().init_random(1);
  EXPECT_TRUE(policy.check_exactness(true).starts_with("exact")) << policy.check_exactness(true);
}

TEST_F(CudaDecoder, RefusesWhatItDoesNotKnow) {
  const auto refused = [](auto change) {
    ModelConfig config = gpu_config();
    change(config);
    try {
      Policy policy(config, on_gpu());
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(refused([](ModelConfig& c) { c.head_dim = 32; }).find("head_dim is 32"), std::string::npos);
  EXPECT_NE(refused([](ModelConfig& c) { c.hidden_size = 200; }).find("hidden_size is 200"),
            std::string::npos);
  EXPECT_NE(refused([](ModelConfig& c) { c.vocab_size = 1001; }).find("vocab_size is 1001"),
            std::string::npos);
}

TEST_F(CudaDecoder, OptimizerMovesAsTheCpuDoes) {
  Twins twins(gpu_config());
  const PackedTokens pack = random_pack(kLengths, 1000, 8);
  twins.cpu.forward_backward(pack, loss_gradient);
  ParameterStore &c = twins.cpu.parameters(), &g = twins.gpu.parameters();
  g.gradients().copy_(c.gradients());
  EXPECT_NEAR(squared_norm(g.gradients()) / squared_norm(c.gradients()), 1, 1e-9);
  const AdamWFactors factors{.gradient_scale = 0.5,
                             .keep = 0.999,
                             .beta1 = 0.9,
                             .beta2 = 0.99,
                             .step = 0.01,
                             .root_correction = 10,
                             .epsilon = 1e-8};
  const auto of_cpu = c.parts(), of_gpu = g.parts();
  ASSERT_EQ(of_cpu.size(), of_gpu.size());
  for (size_t i = 0; i < of_cpu.size(); ++i) {
    const ParameterPart &p = of_cpu[i], &q = of_gpu[i];
    const at::Tensor start = p.master.clone();
    adamw(p.master, p.weights, p.gradients, p.moment1, p.moment2, factors);
    adamw(q.master, q.weights, q.gradients, q.moment1, q.moment2, factors);
    EXPECT_LT(norm_error(q.master - start.cuda(), p.master - start), 1e-3) << i;
    EXPECT_TRUE(at::equal(q.weights, q.master.to(at::kBFloat16))) << i;
  }
  EXPECT_EQ(g.gradients().abs().max().item<float>(), 0);
}

}  // namespace
}  // namespace temper::policy
