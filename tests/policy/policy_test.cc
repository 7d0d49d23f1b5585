#include "policy/policy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <regex>

#include "base/error.h"
#include "policy/keep.h"
#include "policy/layouts.h"
#include "tests/policy/small_model.h"

namespace temper::policy {
namespace {

PackedTokens sequence_of(const PackedTokens& pack, size_t s) {
  const auto begin = pack.starts[s], end = pack.starts[s + 1];
  return {{pack.ids.begin() + begin, pack.ids.begin() + end},
          {0, end - begin},
          {pack.scored.begin() + begin, pack.scored.begin() + end}};
}

double log_softmax(std::span<const float> logits, int32_t id) {
  double max = -1e300, sum = 0;
  for (float x : logits) max = std::max(max, double(x));
  for (float x : logits) sum += std::exp(double(x) - max);
  return double(logits[size_t(id)]) - max - std::log(sum);
}

// Extends sequence by sequence with pieces of these sizes, over and over; log-probs of all tokens but the
// first.
std::vector<double> log_probs_by_extend(Policy& policy, const std::vector<int32_t>& ids, int64_t piece) {
  KvCache cache(policy.config(), policy.options(), 3, 512);
  std::vector<double> log_probs;
  for (size_t at = 0; at + 1 < ids.size();) {
    const size_t n = std::min(size_t(piece), ids.size() - 1 - at);
    const Extension extension{1, {ids.data() + at, n}};
    const auto logits = policy.extend(cache, {&extension, 1});
    at += n;
    log_probs.push_back(log_softmax(logits, ids[at]));
  }
  EXPECT_EQ(cache.length(1), int64_t(ids.size()) - 1);
  return log_probs;
}

TEST(Policy, PackedEqualsEachAlone) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    Policy policy = random_policy(small_config(), {.dtype = dtype}, 1);
    const PackedTokens pack = random_pack({70, 1, 130, 2, 9, 64, 65}, 37, 2);
    const TokenScores together = policy.forward(pack, 0.8);
    for (size_t s = 0; s + 1 < pack.starts.size(); ++s) {
      const TokenScores alone = policy.forward(sequence_of(pack, s), 0.8);
      for (size_t i = 0; i < alone.log_prob.size(); ++i) {
        const size_t t = size_t(pack.starts[s]) + i;
        EXPECT_NEAR(together.log_prob[t], alone.log_prob[i], dtype == DType::kF32 ? 2e-5 : 1e-12);
        EXPECT_NEAR(together.entropy[t], alone.entropy[i], dtype == DType::kF32 ? 2e-5 : 1e-12);
      }
    }
  }
}

TEST(Policy, LaterTokensDoNotReachEarlierOnes) {
  Policy policy = random_policy(small_config(), {.dtype = DType::kF64}, 1);
  PackedTokens pack = random_pack({40}, 37, 2);
  const TokenScores before = policy.forward(pack);
  pack.ids[30] = (pack.ids[30] + 1) % 37;
  const TokenScores after = policy.forward(pack);
  for (size_t t = 0; t < 30; ++t) EXPECT_EQ(before.log_prob[t], after.log_prob[t]);
  EXPECT_NE(std::accumulate(before.log_prob.begin() + 31, before.log_prob.end(), 0.0),
            std::accumulate(after.log_prob.begin() + 31, after.log_prob.end(), 0.0));
}

TEST(Policy, ScoresOnlyWhatIsAsked) {
  Policy policy = random_policy(small_config(), {}, 1);
  PackedTokens pack = random_pack({40, 12}, 37, 2);
  const TokenScores some = policy.forward(pack);
  PackedTokens all = pack;
  for (size_t t = 1; t < 40; ++t) all.scored[t] = 1;
  const TokenScores every = policy.forward(all);
  for (size_t t = 0; t < 40; ++t) {
    EXPECT_NEAR(some.log_prob[t], pack.scored[t] ? every.log_prob[t] : 0, 1e-5);
    EXPECT_NEAR(some.entropy[t], pack.scored[t] ? every.entropy[t] : 0, 1e-5);
  }
}

const std::vector<MemoryOptions> kRecomputing = {{},
                                                 {.recompute = "feed_forward", .recompute_blocks = 1},
                                                 {.recompute = "feed_forward", .recompute_blocks = 2},
                                                 {.recompute = "feed_forward"},
                                                 {.recompute = "all", .recompute_blocks = 1},
                                                 {.recompute = "all", .recompute_blocks = 2},
                                                 {.recompute = "all"}};

TEST(Policy, RecomputingChangesNoBit) {
  ModelConfig config = small_config(false);
  config.num_hidden_layers = 3;
  const PackedTokens pack = random_pack({70, 33, 5, 150}, 37, 4);
  Policy plain = random_policy(config, {}, 3);
  const TokenScores a = plain.forward_backward(pack, loss_gradient, 0.9);
  for (size_t i = 1; i < kRecomputing.size(); ++i) {
    Policy recomputing = random_policy(config, {.memory = kRecomputing[i]}, 3);
    const TokenScores b = recomputing.forward_backward(pack, loss_gradient, 0.9);
    EXPECT_EQ(a.log_prob, b.log_prob);
    EXPECT_EQ(a.entropy, b.entropy);
    EXPECT_TRUE(at::equal(plain.parameters().gradients(), recomputing.parameters().gradients())) << i;
    EXPECT_LT(recomputing.workspace_bytes(), plain.workspace_bytes()) << i;
  }
}

// Also on a GPU, which this takes no GPU to count. The last of the blocks needs no memory less if it recomputes.
TEST(Policy, EachBlockThatRecomputesTakesLessMemory) {
  ModelConfig config = small_config(false);
  config.num_hidden_layers = 4;
  config.head_dim = 128;
  for (const bool gpu : {false, true})
    for (const char* part : {"feed_forward", "all"}) {
      PolicyOptions options;
      if (gpu) options.dtype = DType::kBF16, options.device = "cuda";
      std::vector<int64_t> bytes = {activation_bytes(config, options, 300, 200)};
      options.memory.recompute = part;
      for (int64_t blocks = 1; blocks <= 4; ++blocks) {
        options.memory.recompute_blocks = blocks;
        bytes.push_back(activation_bytes(config, options, 300, 200));
      }
      EXPECT_LT(bytes[1], bytes[0]) << part;
      EXPECT_EQ(bytes[1] - bytes[2], bytes[0] - bytes[1]) << part;
      EXPECT_EQ(bytes[2] - bytes[3], bytes[0] - bytes[1]) << part;
      EXPECT_EQ(bytes[4], bytes[3]) << part;
      options.memory.recompute_blocks = 0;
      EXPECT_EQ(activation_bytes(config, options, 300, 200), bytes[3]) << part;
    }
}

TEST(Policy, OffloadedBlocksAreSpreadOverThoseThatRecompute) {
  for (const int64_t count : {1, 5, 35})
    for (int64_t offloaded = 0; offloaded <= count; ++offloaded) {
      const KeepByBlock keep{Keep::kInputs, count, offloaded};
      int64_t found = 0;
      for (int64_t block = 0; block < count + 2; ++block) {
        EXPECT_EQ(keep.offloaded_before(std::min(block, count)), found) << block;
        found += keep.offloads(block);
        EXPECT_EQ(keep.recomputes(block), block < count && !keep.offloads(block));
        EXPECT_NEAR(double(found), double(offloaded * std::min(block + 1, count)) / double(count), 1);
      }
      EXPECT_EQ(found, offloaded);
    }
}

TEST(Policy, HeadInChunksEqualsHeadAtOnce) {
  const PackedTokens pack = random_pack({70, 33, 5, 150}, 37, 4);
  Policy whole = random_policy(small_config(), {.dtype = DType::kF64, .memory = {.logits_chunk = 1000}}, 3);
  Policy chunks = random_policy(small_config(), {.dtype = DType::kF64, .memory = {.logits_chunk = 7}}, 3);
  const TokenScores a = whole.forward_backward(pack, loss_gradient, 0.9);
  int64_t calls = 0, next = 0;
  const ScoreGradient counting = [&](int64_t begin, auto lp, auto h, auto d_lp, auto d_h) {
    EXPECT_EQ(begin, next);
    EXPECT_LE(lp.size(), 7u);
    next += int64_t(lp.size());
    ++calls;
    loss_gradient(begin, lp, h, d_lp, d_h);
  };
  const TokenScores b = chunks.forward_backward(pack, counting, 0.9);
  EXPECT_EQ(next, std::count(pack.scored.begin(), pack.scored.end(), 1));
  EXPECT_GT(calls, 20);
  for (size_t t = 0; t < a.log_prob.size(); ++t) EXPECT_NEAR(a.log_prob[t], b.log_prob[t], 1e-12);
  EXPECT_TRUE(at::allclose(whole.parameters().gradients(), chunks.parameters().gradients(), 1e-10, 1e-12));
}

TEST(Policy, ALossMaySeeAllLogProbsFirst) {
  const PackedTokens pack = random_pack({70, 33, 5, 150}, 37, 4);
  for (const int64_t rows : {7, 1000}) {
    Policy plain = random_policy(small_config(), {.memory = {.logits_chunk = rows}}, 3),
           seeing = random_policy(small_config(), {.memory = {.logits_chunk = rows}}, 3);
    const TokenScores a = plain.forward_backward(pack, loss_gradient, 0.9);
    std::vector<double> seen, heard;
    const TokenScores b = seeing.forward_backward(pack,
                                                  {[&](std::span<const double> log_prob) {
                                                     EXPECT_TRUE(seen.empty() && heard.empty());
                                                     seen.assign(log_prob.begin(), log_prob.end());
                                                   },
                                                   [&](int64_t begin, auto lp, auto h, auto d_lp, auto d_h) {
                                                     heard.insert(heard.end(), lp.begin(), lp.end());
                                                     loss_gradient(begin, lp, h, d_lp, d_h);
                                                   }},
                                                  0.9);
    EXPECT_EQ(seen.size(), size_t(std::ranges::count(pack.scored, 1)));
    EXPECT_EQ(seen, heard);
    EXPECT_EQ(a.log_prob, b.log_prob);
    EXPECT_TRUE(at::equal(plain.parameters().gradients(), seeing.parameters().gradients()));
  }
}

TEST(Policy, ForwardAloneEqualsForwardWithBackward) {
  Policy policy = random_policy(small_config(), {}, 3);
  const PackedTokens pack = random_pack({70, 33}, 37, 4);
  EXPECT_EQ(policy.forward(pack, 0.9).log_prob, policy.forward_backward(pack, loss_gradient, 0.9).log_prob);
}

TEST(Policy, WorkspaceIsWhatWasPlanned) {
  for (const MemoryOptions& memory : kRecomputing) {
    Policy policy = random_policy(small_config(), {.memory = memory}, 3);
    const PackedTokens pack = random_pack({70, 33}, 37, 4);
    const int64_t scored = std::count(pack.scored.begin(), pack.scored.end(), 1);
    policy.forward_backward(pack, loss_gradient);
    EXPECT_EQ(policy.workspace_bytes(), policy.activation_bytes(103, scored));
  }
}

TEST(Policy, PhasesApartGiveUpTheMemoryOfUpdatesAndChangeNoBit) {
  const PackedTokens pack = random_pack({70, 33}, 37, 4);
  Policy together = random_policy(small_config(), {}, 3);
  Policy apart = random_policy(small_config(), {.memory = {.phases = "apart"}}, 3);
  for (int step = 0; step < 2; ++step) {
    std::vector<TokenScores> scores;
    for (Policy* policy : {&together, &apart}) {
      policy->shard_weights();
      scores.push_back(policy->forward_backward(pack, loss_gradient, 0.9));
      EXPECT_GT(policy->workspace_bytes(), 0);
      policy->unshard_weights();
    }
    EXPECT_GT(together.workspace_bytes(), 0);
    EXPECT_EQ(apart.workspace_bytes(), 0);
    EXPECT_EQ(scores[0].log_prob, scores[1].log_prob);
    EXPECT_TRUE(at::equal(together.parameters().gradients(), apart.parameters().gradients()));
  }
}

TEST(Policy, ExtendEqualsForward) {
  for (const auto& [config, tolerance] : {std::pair{small_config(), 1e-5}, std::pair{tool_config(), 1e-5}}) {
    Policy policy = random_policy(config, {}, 5, 0.1);
    PackedTokens pack = random_pack({150}, config.vocab_size, 6);
    std::fill(pack.scored.begin() + 1, pack.scored.end(), 1);
    const TokenScores scores = policy.forward(pack);
    const auto one_by_one = log_probs_by_extend(policy, pack.ids, 1);
    for (size_t t = 1; t < 150; ++t) EXPECT_NEAR(one_by_one[t - 1], scores.log_prob[t], tolerance) << t;
    for (int64_t piece : {7, 64, 149}) {
      const auto by_pieces = log_probs_by_extend(policy, pack.ids, piece);
      for (size_t k = 0; k < by_pieces.size(); ++k) {
        const size_t t = std::min(size_t(piece) * (k + 1), size_t(149));
        EXPECT_NEAR(by_pieces[k], scores.log_prob[t], tolerance) << piece << " " << t;
      }
    }
  }
}

TEST(Policy, ExtendsInF64) {
  Policy policy = random_policy(small_config(), {.dtype = DType::kF64}, 5);
  PackedTokens pack = random_pack({20}, 37, 6);
  std::fill(pack.scored.begin() + 1, pack.scored.end(), 1);
  const TokenScores scores = policy.forward(pack);
  const auto log_probs = log_probs_by_extend(policy, pack.ids, 3);
  EXPECT_NEAR(log_probs[0], scores.log_prob[3], 1e-5);
}

// 64 sequences of different lengths, prefilled and then decoded together; each again alone: the same bits.
TEST(Policy, LogitsAloneEqualLogitsInABatch) {
  const ModelConfig config = tool_config();
  Policy policy = random_policy(config, {}, 5, 0.1);
  KvCache cache(config, policy.options(), 64, 128);
  std::vector<std::vector<int32_t>> prompts;
  std::vector<Extension> batch;
  for (int64_t s = 0; s < 64; ++s) prompts.push_back(random_ids(3 + s, config.vocab_size, uint64_t(s)));
  for (int64_t s = 0; s < 64; ++s) batch.push_back({s, prompts[size_t(s)]});
  std::vector<std::vector<float>> logits;
  const auto keep = [&](std::span<const float> all) { logits.emplace_back(all.begin(), all.end()); };
  keep(policy.extend(cache, batch));
  const auto next = random_ids(64 * 3, config.vocab_size, 99);
  for (size_t step = 0; step < 3; ++step) {
    for (size_t s = 0; s < 64; ++s) batch[s].ids = {&next[step * 64 + s], 1};
    keep(policy.extend(cache, batch));
  }
  const auto in_batch = [&](size_t step, size_t s) {
    return std::span(logits[step]).subspan(s * size_t(config.vocab_size), size_t(config.vocab_size));
  };
  for (size_t s : {0, 1, 2, 5, 13, 31, 63}) {
    KvCache alone(config, policy.options(), 1, 128);
    for (size_t step = 0; step < 4; ++step) {
      const Extension e{
          0, step == 0 ? std::span<const int32_t>(prompts[s]) : std::span(&next[(step - 1) * 64 + s], 1)};
      const auto row = policy.extend(alone, {&e, 1});
      ASSERT_TRUE(std::equal(row.begin(), row.end(), in_batch(step, s).begin())) << s << " step " << step;
    }
  }
}

std::vector<float> extended(Policy& policy, KvCache& cache, int64_t slot, std::span<const int32_t> ids) {
  const Extension extension{slot, ids};
  const auto logits = policy.extend(cache, {&extension, 1});
  return {logits.begin(), logits.end()};
}

TEST(KvCache, CopiesPrefixesAndTruncates) {
  Policy policy = random_policy(small_config(), {}, 5);
  KvCache cache(policy.config(), policy.options(), 4, 60), fresh(policy.config(), policy.options(), 2, 60);
  const auto ids = random_ids(40, 37, 8), other = random_ids(40, 37, 9);
  const auto expected = extended(policy, cache, 0, ids);
  cache.copy_prefix(0, 3, 21);
  EXPECT_EQ(cache.length(3), 21);
  EXPECT_EQ(extended(policy, cache, 3, std::span(ids).subspan(21)), expected);

  cache.truncate(0, 21);
  std::vector<int32_t> branch(ids.begin(), ids.begin() + 21);
  branch.insert(branch.end(), other.begin(), other.begin() + 5);
  EXPECT_EQ(extended(policy, cache, 0, std::span(other).first(5)), extended(policy, fresh, 0, branch));
}

// A cache in fresh memory that holds NaN in every element.
KvCache poisoned_cache(const Policy& policy, int64_t slots, int64_t max_tokens) {
  at::globalContext().setDeterministicAlgorithms(true, true);
  EXPECT_TRUE(at::empty({4}, at::kFloat).isnan().all().item<bool>()) << "the poison works";
  KvCache cache(policy.config(), policy.options(), slots, max_tokens);
  at::globalContext().setDeterministicAlgorithms(false, false);
  return cache;
}

TEST(KvCache, WhatHasNotBeenWrittenDoesNotMatter) {
  Policy policy = random_policy(small_config(), {}, 5);
  const auto ids = random_ids(67, 37, 8);
  for (const size_t prefix : {1, 31, 32, 33, 66}) {
    KvCache cache = poisoned_cache(policy, 2, 70);
    extended(policy, cache, 0, std::span(ids).first(prefix));
    cache.copy_prefix(0, 1, int64_t(prefix));
    KvCache whole(policy.config(), policy.options(), 1, 70);
    const auto expected = extended(policy, whole, 0, std::span(ids).first(prefix + 1));
    for (const int64_t slot : {0, 1})
      EXPECT_EQ(extended(policy, cache, slot, std::span(ids).subspan(prefix, 1)), expected) << prefix;
  }
}

TEST(KvCache, BytesAreThoseAllocated) {
  const ModelConfig config = small_config();
  EXPECT_EQ(KvCache::bytes(config, {}, 3, 50), 2 * 4 * 3 * 2 * 2 * 64 * 6);
}

TEST(Policy, RefusesWhatIsNotThere) {
  EXPECT_THROW(Policy(small_config(), {.device = "cuda"}), ConfigError);
  EXPECT_THROW(Policy(small_config(), {.dtype = DType::kBF16}), ConfigError);
  EXPECT_THROW(Policy(small_config(), {.memory = {.logits_chunk = -1}}), ConfigError);
  EXPECT_THROW(Policy(small_config(), {.memory = {.recompute = "all", .offload_activations = 1}}),
               ConfigError);
}

TEST(Policy, CountsTrainingFlops) {
  // By hand: one block of the small model is 20·48 + 24·20 + 3·20·28 products, two blocks, the head 37·20;
  // attention 2·24 multiply-adds a key and layer; times 2 for multiply-adds, 3 for forward and backward.
  Policy policy(small_config(), {});
  EXPECT_DOUBLE_EQ(policy.train_flops_per_token(10), 6.0 * (2 * (960 + 480 + 1680) + 740 + 2 * 48 * 10));
}

TEST(ParameterStore, WithoutMemoryForItSaysHowMuch) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer ends a process that asks for so much";
#endif
  ModelConfig config;
  config.vocab_size = 1 << 24;
  config.hidden_size = 1 << 24;
  try {
    const ParameterStore store(config, DType::kF32, at::kCPU, alone(), 1);
    ADD_FAILURE();
  } catch (const WorldError& e) {
    EXPECT_TRUE(
        std::regex_match(e.what(), std::regex("there is no memory for [1-9][0-9]{9,} MiB of the policy's "
                                              "parameters on this host")))
        << e.what();
  }
}

TEST(ParameterStore, InitialisesByTheSeedAlone) {
  Policy a(small_config(), {}), b(small_config(), {}), c(small_config(), {});
  a.parameters().init_random(1);
  b.parameters().init_random(1);
  c.parameters().init_random(2);
  EXPECT_TRUE(at::equal(a.parameters().weights(), b.parameters().weights()));
  EXPECT_FALSE(at::equal(a.parameters().weights(), c.parameters().weights()));
  EXPECT_TRUE(at::equal(a.parameters().weight("model.norm.weight"), at::ones({20})));
  EXPECT_NEAR(a.parameters().weight("model.layers.0.mlp.gate_proj.weight").std().item<double>(), 0.02, 0.002);
  EXPECT_NEAR(a.parameters().weight("model.layers.1.mlp.down_proj.weight").std().item<double>(), 0.01, 0.001);
}

}  // namespace
}  // namespace temper::policy
