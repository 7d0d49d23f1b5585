#pragma once
// A decoder on the CPU and one on a GPU with the same weights, and conversations whose log-probs must have
// the bits of training.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/policy/small_model.h"

namespace temper::policy {

inline ModelConfig gpu_config(bool tied = true) {
  ModelConfig c;
  c.vocab_size = 1000;
  c.hidden_size = 256;
  c.intermediate_size = 320;
  c.num_hidden_layers = 3;
  c.num_attention_heads = 4;
  c.num_key_value_heads = 2;
  c.head_dim = 128;
  c.tie_word_embeddings = tied;
  c.max_position_embeddings = 2048;
  return c;
}

inline PolicyOptions on_gpu() {
  return {.dtype = DType::kBF16, .device = "cuda", .memory = {.logits_chunk = 4096}};
}

// Both with the same weights, which bf16 holds, smaller in wider rows; biases lie around zero.
struct Twins {
  explicit Twins(const ModelConfig& config, PolicyOptions options = on_gpu())
      : cpu(random_policy(config, {}, 1, 0.96 / std::sqrt(double(config.hidden_size)))),
        gpu(config, options) {
    for (const ParameterInfo& p : cpu.parameters().parameters())
      if (p.name.ends_with(".bias")) cpu.parameters().weight(p.name).sub_(1);
    cpu.parameters().weights().copy_(cpu.parameters().weights().to(at::kBFloat16));
    gpu.parameters().weights().copy_(cpu.parameters().weights());
  }
  Policy cpu, gpu;
};

inline const std::vector<int64_t> kLengths = {5, 200, 1, 33, 128, 129, 700, 64};

inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

inline double norm_error(const at::Tensor& value, const at::Tensor& truth) {
  return ((value.to(at::kCPU) - truth).norm() / truth.norm()).item<double>();
}

// Conversations of three turns in slots of one cache: sampled, fed back, sampled again.
struct Sampled {
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<float>> log_probs;  // 0 where not sampled
};

inline Sampled converse(Policy& policy, int64_t batch, const SamplingParams& params) {
  const int64_t ids =
      policy.options().token_count > 0 ? policy.options().token_count : policy.config().vocab_size;
  KvCache cache(policy.config(), policy.options(), batch, 600);
  Sampled all{std::vector<std::vector<int32_t>>(batch), std::vector<std::vector<float>>(batch)};
  Rng rng{uint64_t(batch)};
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<size_t> held;
    for (int64_t i = 0; i < batch; ++i) {
      held.push_back(size_t(cache.length(i)));
      const auto given = random_ids(1 + int64_t(rng.below(150)), ids, rng.next());
      all.ids[i].insert(all.ids[i].end(), given.begin(), given.end());
      all.log_probs[i].resize(all.ids[i].size(), 0);
    }
    for (int token = 0; token < 20; ++token) {
      std::vector<Extension> extensions;
      std::vector<Draw> draws;
      for (int64_t i = 0; i < batch; ++i) {
        const auto from = size_t(cache.length(i));
        extensions.push_back({i, std::span<const int32_t>(all.ids[i]).subspan(from)});
        draws.push_back({i, params, rng.uniform()});
      }
      const auto tokens = policy.sample(cache, extensions, draws);
      for (int64_t i = 0; i < batch; ++i) {
        all.ids[i].push_back(tokens[i].id);
        all.log_probs[i].push_back(tokens[i].log_prob);
      }
    }
  }
  return all;
}

inline void expect_bits_of_training(Policy& policy, const Sampled& sampled, const SamplingParams& params) {
  PackedTokens pack;
  pack.starts = {0};
  std::vector<float> expected;
  for (size_t i = 0; i < sampled.ids.size(); ++i) {
    pack.ids.insert(pack.ids.end(), sampled.ids[i].begin(), sampled.ids[i].end());
    for (float log_prob : sampled.log_probs[i]) pack.scored.push_back(log_prob != 0);
    expected.insert(expected.end(), sampled.log_probs[i].begin(), sampled.log_probs[i].end());
    pack.starts.push_back(int32_t(pack.ids.size()));
  }
  const TokenScores scores = policy.forward(pack, params);
  int64_t unequal = 0;
  for (size_t t = 0; t < expected.size(); ++t) unequal += expected[t] != float(scores.log_prob[t]);
  EXPECT_EQ(unequal, 0) << "of " << expected.size();
}

}  // namespace temper::policy
