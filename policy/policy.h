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

namespace temper {

class Communicator;
class ParameterStore;
struct CacheStorage;

struct PolicyOptions {
  DType dtype = DType::kF32;   // f32 or f64 on the CPU, bf16 on a GPU
  std::string device = "cpu";  // or cuda, cuda:N
  bool recompute = false;      // keep only each block's input for the backward
  int64_t logits_chunk = 512;  // rows of the [T, V] logits that exist at once
  int64_t zero_stage = 0;      // parameter_store.h's, with several ranks
  // Ids from here on, up to vocab_size, are rows without a token: their probability is 0 in sampling and in
  // training, and their gradient too. 0: every row has a token.
  int64_t token_count = 0;
  Communicator* ranks =
      nullptr;  // ranks that train the policy together, each with the same weights; null: only this process

  bool on_gpu() const { return device.starts_with("cuda"); }
};

// Many sequences end to end, no padding. T = ids.size(), S = starts.size() - 1.
struct PackedTokens {
  std::vector<int32_t> ids;     // [T]
  std::vector<int32_t> starts;  // [S + 1], first 0, last T; positions count from each start
  // [T]: 1 where the token's log-prob is wanted (never a sequence's first token). The head runs for these
  // only.
  std::vector<uint8_t> scored;
};

// For each token log p(ids[t] | ids before it in its sequence) and the entropy of that distribution, in nats; both
// are 0 for tokens that are not scored. The distribution is the one from which a draw with the same SamplingParams is
// made: at their temperature, and truncated by top-k and top-p under the present weights. A token that truncation
// excludes has −inf.
struct TokenScores {
  std::vector<double> log_prob, entropy;  // [T]
};

// Given log-probs and entropies of the scored tokens [begin, end) in scored order, writes dLoss/dlog_prob and
// dLoss/dentropy. Called chunk by chunk, each scored token once. `scored index` k is the k-th scored token of
// the pack.
using ScoreGradient =
    std::function<void(int64_t begin, std::span<const double> log_prob, std::span<const double> entropy,
                       std::span<double> d_log_prob, std::span<double> d_entropy)>;

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

// New tokens of one sequence, which are appended to its slot.
struct Extension {
  int64_t slot;
  std::span<const int32_t> ids;
};

// A token to be drawn after an extension's last token. Several draws may follow the same extension, such as the
// samples of a group.
struct Draw {
  int64_t extension;  // index
  SamplingParams params;
  double u;  // uniform in [0, 1)
  // The uniform number of the draw after this one, if the sequence continues; a device may then begin that draw at
  // once. Negative if the sequence ends or the number is not known.
  double next_u = -1;
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

  // Appends to the cache. Returns the logits [B, V] f32 after the last new token of each extension, including columns
  // that stand for no token; they are valid until the next call. Prefill, the feedback of a second turn after the
  // first turn's keys, and a decode step of one token are all this call.
  std::span<const float> extend(KvCache& cache, std::span<const Extension> extensions);

  // Extends and draws. On a GPU logits and draws stay on the device. A token's log-prob has the same bits that forward
  // computes for it, if check_exactness() confirmed that for the device.
  std::vector<SampledToken> sample(KvCache& cache, std::span<const Extension> extensions,
                                   std::span<const Draw> draws);

  // Describes how log-probs of sampling and of training agree on this device, found out on a random case; empty if
  // there is nothing to find out.
  std::string check_exactness();

  // Bytes of activations that forward_backward needs for `tokens` tokens.
  int64_t activation_bytes(int64_t tokens, int64_t scored) const;
  // Bytes of activations and scratch held now: what the largest call so far needed.
  int64_t workspace_bytes() const;
  // `context`: keys that a token attends to on average. Multiply-adds count 2; backward counts twice the
  // forward.
  double train_flops_per_token(int64_t context) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper
