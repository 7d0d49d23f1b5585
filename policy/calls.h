#pragma once
// What a policy is made with, called with and answers.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "policy/memory_options.h"
#include "policy/model_config.h"
#include "policy/sampler.h"

namespace temper::policy {

class Communicator;

struct PolicyOptions {
  DType dtype = DType::kF32;   // f32 or f64 on the CPU, bf16 on a GPU
  std::string device = "cpu";  // or cuda, cuda:N
  MemoryOptions memory = {};
  // Ids from here on, up to vocab_size, are rows without a token: their probability is 0 in sampling and in
  // training, and their gradient too. 0: every row has a token.
  int64_t token_count = 0;
  // The ranks that train the policy together, each with the same weights. Null: this process alone.
  Communicator* ranks = nullptr;

  bool on_gpu() const { return device.starts_with("cuda"); }
  int64_t chunk_rows() const { return memory.logits_chunk > 0 ? memory.logits_chunk : on_gpu() ? 8192 : 512; }
};

// Many sequences end to end, no padding. T = ids.size(), S = starts.size() - 1.
struct PackedTokens {
  std::vector<int32_t> ids;     // [T]
  std::vector<int32_t> starts;  // [S + 1], first 0, last T
  // [T]: 1 where the token's log-prob is wanted (never the first token behind a start). The head runs for these
  // only.
  std::vector<uint8_t> scored;
  // [S], or empty for all 0: how many tokens of a sequence are not in `ids`, because they are the first ones of the sequence
  // before it, that one's prefix included. They are computed once, and their gradient is the sum over all sequences that
  // have them. Positions count from the prefix's first token, or else from the start.
  std::vector<int32_t> prefixes = {};

  int32_t prefix(size_t s) const { return prefixes.empty() ? 0 : prefixes[s]; }
  // Tokens of sequence s, its prefix included.
  int32_t length(size_t s) const { return prefix(s) + starts[s + 1] - starts[s]; }
};

// For each token log p(ids[t] | ids before it in its sequence) and the entropy of that distribution, in nats; both
// are 0 for tokens that are not scored. The distribution is the one from which a draw with the same SamplingParams is
// made: at their temperature, and truncated by top-k and top-p under the present weights. A token that truncation
// excludes has −inf.
struct TokenScores {
  std::vector<double> log_prob, entropy;  // [T]
};

// The loss of a pack's scored tokens, as the caller of a backward knows it. They are numbered in order.
class ScoreGradient {
 public:
  // Given log-probs and entropies of the scored tokens from number `begin` on, writes dLoss/dlog_prob and dLoss/dentropy.
  // Called chunk by chunk, each scored token once.
  using OfChunk =
      std::function<void(int64_t begin, std::span<const double> log_prob, std::span<const double> entropy,
                         std::span<double> d_log_prob, std::span<double> d_entropy)>;
  // Told the log-probs of all scored tokens before the first chunk.
  using Foresight = std::function<void(std::span<const double> log_prob)>;

  template <class Function>
    requires std::is_convertible_v<Function, OfChunk>
  ScoreGradient(Function gradient) : of_chunk_(std::move(gradient)) {}
  // For a loss whose tokens depend on one another. It costs a second forward of the output head, and of nothing else.
  ScoreGradient(Foresight seen, OfChunk gradient)
      : foresight_(std::move(seen)), of_chunk_(std::move(gradient)) {}

  const Foresight& foresight() const { return foresight_; }  // may be empty
  const OfChunk& of_chunk() const { return of_chunk_; }

 private:
  Foresight foresight_;
  OfChunk of_chunk_;
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

}  // namespace temper::policy
