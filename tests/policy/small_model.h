#pragma once
// Small random policies and packs.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.h"
#include "policy/parameters/parameter_store.h"
#include "policy/policy.h"

namespace temper::policy {

inline ModelConfig small_config(bool tied = true) {
  ModelConfig c;
  c.vocab_size = 37;
  c.hidden_size = 20;
  c.intermediate_size = 28;
  c.num_hidden_layers = 2;
  c.num_attention_heads = 4;
  c.num_key_value_heads = 2;
  c.head_dim = 6;  // H·hd = 24, not D
  c.tie_word_embeddings = tied;
  c.max_position_embeddings = 512;
  return c;
}

// The size that the tools train on two cores.
inline ModelConfig tool_config() {
  ModelConfig c;
  c.vocab_size = 1024;
  c.hidden_size = 128;
  c.intermediate_size = 384;
  c.num_hidden_layers = 4;
  c.num_attention_heads = 4;
  c.num_key_value_heads = 2;
  c.head_dim = 32;
  return c;
}

// Weights larger than at initialisation, norms too, so that nothing is near linear.
inline Policy random_policy(const ModelConfig& config, PolicyOptions options, uint64_t seed,
                            double scale = 0.3) {
  Policy policy(config, options);
  at::Tensor values = at::zeros({policy.parameters().size()}, at::kDouble);
  Rng rng{seed};
  for (const auto& p : policy.parameters().parameters())
    for (int64_t i = 0; i < p.size; ++i)
      values.data_ptr<double>()[p.offset + i] = p.decays ? scale * rng.normal() : 1 + 0.2 * rng.normal();
  policy.parameters().weights().copy_(values);
  return policy;
}

inline std::vector<int32_t> random_ids(int64_t count, int64_t vocab, uint64_t seed) {
  Rng rng{seed, 77};
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(int32_t(rng.below(uint64_t(vocab))));
  return ids;
}

// Sequences of these lengths; about two tokens in three are scored.
inline PackedTokens random_pack(const std::vector<int64_t>& lengths, int64_t vocab, uint64_t seed) {
  PackedTokens pack;
  pack.starts = {0};
  Rng rng{seed, 5};
  for (size_t s = 0; s < lengths.size(); ++s) {
    const auto ids = random_ids(lengths[s], vocab, seed * 1000 + s);
    pack.ids.insert(pack.ids.end(), ids.begin(), ids.end());
    pack.starts.push_back(int32_t(pack.ids.size()));
    for (int64_t i = 0; i < lengths[s]; ++i) pack.scored.push_back(i > 0 && rng.below(3) > 0);
  }
  return pack;
}

// A loss whose gradient depends on both values: Σ_k a_k·lp + lp²/4 + b_k·H + H²/4.
inline double loss_weight(int64_t k, uint64_t which) { return Rng{which, 9}.uniform_at(uint64_t(k)) - 0.5; }

inline double loss_of(const TokenScores& scores, const PackedTokens& pack) {
  double loss = 0;
  int64_t k = 0;
  for (size_t t = 0; t < pack.ids.size(); ++t) {
    if (!pack.scored[t]) continue;
    const double lp = scores.log_prob[t], h = scores.entropy[t];
    loss += loss_weight(k, 1) * lp + lp * lp / 4 + loss_weight(k, 2) * h + h * h / 4;
    ++k;
  }
  return loss;
}

inline void loss_gradient(int64_t begin, std::span<const double> lp, std::span<const double> h,
                          std::span<double> d_lp, std::span<double> d_h) {
  for (size_t i = 0; i < lp.size(); ++i) {
    d_lp[i] = loss_weight(begin + int64_t(i), 1) + lp[i] / 2;
    d_h[i] = loss_weight(begin + int64_t(i), 2) + h[i] / 2;
  }
}

}  // namespace temper::policy
