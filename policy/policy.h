#pragma once
// The policy: a decoder over packed tokens, with its backward written by hand, and the incremental step that
// generation uses on the same weights.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policy/calls.h"
#include "policy/model_config.h"
#include "policy/sampler.h"

namespace temper::policy {

class Communicator;
class ParameterStore;
struct CacheStorage;

// Keys and values of the sequences being generated. A slot is one sequence.
class KvCache {
 public:
  KvCache(const ModelConfig& config, const PolicyOptions& options, int64_t slots, int64_t max_tokens);
  ~KvCache();
  KvCache(KvCache&&) noexcept;
  int64_t slots() const;
  int64_t length(int64_t slot) const;  // tokens held
  void truncate(int64_t slot, int64_t length);
  // The slot gets another's first `length` tokens: a group's prompt is computed once.
  void copy_prefix(int64_t from, int64_t to, int64_t length);
  static int64_t bytes(const ModelConfig& config, const PolicyOptions& options, int64_t slots,
                       int64_t max_tokens);

 private:
  friend class Policy;
  std::unique_ptr<CacheStorage> storage_;
};

class Policy {
 public:
  Policy(ModelConfig config, PolicyOptions options);
  ~Policy();
  Policy(Policy&&) noexcept;

  const ModelConfig& config() const;
  const PolicyOptions& options() const;
  ParameterStore& parameters();
  const ParameterStore& parameters() const;
  Communicator& ranks() const;

  // Exact: independent of how sequences are packed, within f32 rounding of the product kernels.
  TokenScores forward(const PackedTokens& tokens, const SamplingParams& params = {});
  TokenScores forward(const PackedTokens& tokens, double temperature) {
    return forward(tokens, SamplingParams{.temperature = temperature});
  }

  // Forward, then the gradients of sum over scored tokens added into parameters().gradients(); over all
  // ranks, after finish_gradients(). They call it equally often: where a rank has no tokens left, with none.
  TokenScores forward_backward(const PackedTokens& tokens, const ScoreGradient& gradient,
                               const SamplingParams& params = {});
  TokenScores forward_backward(const PackedTokens& tokens, const ScoreGradient& gradient,
                               double temperature) {
    return forward_backward(tokens, gradient, SamplingParams{.temperature = temperature});
  }

  // ParameterStore's. In between the policy learns and scores, and extend() and sample() fail a TEMPER_CHECK. Memory that
  // learning alone needs is given up where the weights become whole again, or MemoryOptions::phases are apart.
  void shard_weights();
  void unshard_weights();

  // Appends to the cache. Returns the logits [B, V] f32 after the last new token of each extension, including columns
  // that stand for no token; they are valid until the next call. Prefill, the feedback of a second turn after the
  // first turn's keys, and a decode step of one token are all this call.
  std::span<const float> extend(KvCache& cache, std::span<const Extension> extensions);

  // Extends and draws. On a GPU logits and draws stay on the device. A token's log-prob has the same bits that forward
  // computes for it, if check_exactness() confirmed that for the device.
  std::vector<SampledToken> sample(KvCache& cache, std::span<const Extension> extensions,
                                   std::span<const Draw> draws);

  // Describes how log-probs of sampling and of training agree on this device, found out on a random case; empty if
  // there is nothing to find out. `prefixes`: packs will have some.
  std::string check_exactness(bool prefixes = false);

  // Bytes of activations that forward_backward needs for `tokens` tokens (policy/layouts.h).
  int64_t activation_bytes(int64_t tokens, int64_t scored, int64_t key_copies = 0) const;
  // Bytes of activations and scratch held now: what the largest call so far needed.
  int64_t workspace_bytes() const;
  // `context`: keys that a token attends to on average. Multiply-adds count 2; backward counts twice the
  // forward.
  double train_flops_per_token(int64_t context) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::policy
