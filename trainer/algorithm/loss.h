#pragma once
// The policy-gradient loss of one response token and its derivatives. No tensors: the policy calls it with
// numbers.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "rollout/trajectory.h"
#include "trainer/algorithm/advantage.h"

namespace temper::trainer {

struct LossOptions {
  std::string objective = "clip";  // or "cispo", or "likelihood", which knows no ratio
  double clip_low = 0.2, clip_high = 0.28;
  double dual_clip = 3;         // 0: off
  std::string ratio = "token";  // or "sequence" (GSPO)
  double importance_cap = 0;    // cap of truncated importance sampling; 0 turns it off
  double kl_coefficient = 0;    // to the frozen reference
  std::string kl_estimator = "k3";
  double entropy_coefficient = 0;
  std::string normalisation = "token_mean";
  double constant = 1000;      // normalisation constant: tokens
  bool mask_overlong = false;  // leave out answers that hit the length limit
  void visit(OptionVisitor& v);

  // Whether a token with an advantage of 0 may still have a gradient.
  bool regularises() const { return kl_coefficient > 0 || entropy_coefficient > 0; }
};

// The inputs of one token's loss, apart from the policy's own log-prob and entropy.
struct TokenTerms {
  double advantage = 0;
  double old_log_prob = 0;        // log-prob under the policy that sampled it
  double importance = 1;          // min(π_old / π_rollout, cap)
  double reference_log_prob = 0;  // log-prob under the frozen reference, for the KL term
  double weight = 1;              // from normalisation_weights
  // Mean of log π − log π_old over the token's answer (GSPO); NaN: the token's own ratio.
  double sequence_log_ratio = std::numeric_limits<double>::quiet_NaN();
};

struct TokenLoss {
  double value = 0;  // weighted: the batch's loss is the plain sum
  double d_log_prob = 0, d_entropy = 0;
  double ratio = 1;
  bool clipped = false;  // no gradient flows from the advantage
};

// `log_prob`: finite, or −inf for a token that top-k or top-p has left out since it was drawn: its ratio is
// 0, and no gradient flows through its log-prob.
TokenLoss token_loss(const LossOptions& options, const TokenTerms& terms, double log_prob, double entropy);

// The weights [T] of each row's tokens such that the loss is a sum over tokens; 0 where masked. A turn's
// answer is a sequence, its summary a part of it. `rows` and `advantages` are one update's: the denominators
// are counted over all of them.
std::vector<std::vector<double>> normalisation_weights(const LossOptions& options,
                                                       std::span<const rollout::BatchRow> rows,
                                                       std::span<const RowAdvantages* const> advantages);

}  // namespace temper::trainer
