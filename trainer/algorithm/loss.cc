#include "trainer/algorithm/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace temper::trainer {
namespace {

constexpr double kLargestLogRatio = 20;  // keeps exp() finite

// Source:  PPO, 1707.06347, equation 7, with the two clips of DAPO, 2503.14476, equation 10:
//            L = −min(r·A, clip(r, 1 − low, 1 + high)·A),  r = π / π_old
//          dual clip, 1912.09729: for A < 0 no worse than −c·A
//          GSPO, 2507.18071, sections 4.1 and 4.3: r is the answer's geometric mean ratio; its gradient flows
//            to each token as if it were the token's own
//          truncated importance sampling, Yao et al., "Your efficient RL framework secretly brings you
//            off-policy RL training", 2025: L is multiplied by min(π_old / π_rollout, cap)
void add_clipped(const LossOptions& options, const TokenTerms& terms, TokenLoss& loss) {
  const double a = terms.advantage, plain = loss.ratio * a;
  double objective = std::min(plain, std::clamp(loss.ratio, 1 - options.clip_low, 1 + options.clip_high) * a);
  if (options.dual_clip > 0 && a < 0) objective = std::max(objective, options.dual_clip * a);
  // A NaN does not count as clipped. Its gradient is also NaN, so that the update is skipped and counted.
  loss.clipped = objective < plain || objective > plain;
  loss.value -= terms.importance * objective;
  if (!loss.clipped) loss.d_log_prob -= terms.importance * plain;
}

// Source:  CISPO, MiniMax-M1, 2506.13585, equation 4: L = −sg(min(r, 1 + high))·A·log π, without a lower
// bound, as there. Every token keeps its gradient: the clipped ratio is a weight.
void add_cispo(const LossOptions& options, const TokenTerms& terms, double log_prob, TokenLoss& loss) {
  const double most = 1 + options.clip_high;
  const double weight = terms.importance * std::min(loss.ratio, most) * terms.advantage;
  loss.clipped = loss.ratio > most;
  loss.value -= weight * log_prob;
  loss.d_log_prob -= weight;
}

// The policy's part of the loss. likelihood: L = −A·log π, which with A = 1 is supervised fine-tuning's.
void add_policy_gradient(const LossOptions& options, const TokenTerms& terms, double log_prob,
                         TokenLoss& loss) {
  const bool own = std::isnan(terms.sequence_log_ratio);
  const double log_ratio = own ? log_prob - terms.old_log_prob : terms.sequence_log_ratio;
  loss.ratio = std::exp(std::clamp(log_ratio, -kLargestLogRatio, kLargestLogRatio));
  if (options.objective == "clip") return add_clipped(options, terms, loss);
  if (options.objective == "cispo") return add_cispo(options, terms, log_prob, loss);
  TEMPER_CHECK(options.objective == "likelihood", "objective {}", options.objective);
  loss.value -= terms.advantage * log_prob;
  loss.d_log_prob -= terms.advantage;
}

// Source:  Schulman, "Approximating KL divergence", 2020: with d = log π_ref − log π,
//            k1 = −d, k3 = exp(d) − d − 1
// k1 as a loss has an expected gradient of zero; it is there to be compared with.
void add_reference_kl(const LossOptions& options, const TokenTerms& terms, double log_prob, TokenLoss& loss) {
  const double d = std::min(terms.reference_log_prob - log_prob, kLargestLogRatio);
  const bool k1 = options.kl_estimator == "k1";
  loss.value += options.kl_coefficient * (k1 ? -d : std::exp(d) - d - 1);
  loss.d_log_prob += options.kl_coefficient * (k1 ? 1 : 1 - std::exp(d));
}

int64_t count_kept(const RowAdvantages& row, const rollout::Turn& turn) {
  int64_t kept = 0;
  for (const rollout::Span span : turn.spans())
    kept += std::count(row.mask.begin() + span.begin, row.mask.begin() + span.end, 1);
  return kept;
}

}  // namespace

void LossOptions::visit(OptionVisitor& v) {
  v.option("objective", objective,
           {.help = "objective of the policy. clip: the ratio times the advantage, clipped (PPO); "
                    "cispo: the log-prob times the advantage, weighted by the ratio, which is only "
                    "bounded from above; likelihood: the log-prob times the advantage, as in "
                    "supervised fine-tuning",
            .choices = {"clip", "cispo", "likelihood"}});
  v.option("clip_low", clip_low, {.help = "lower clip of the ratio, at 1 − clip_low", .min = 0, .max = 1});
  v.option("clip_high", clip_high, {.help = "upper clip of the ratio, at 1 + clip_high", .min = 0});
  v.option("dual_clip", dual_clip,
           {.help = "upper bound of the ratio where the advantage is negative (dual clip); 0 for "
                    "none",
            .min = 0});
  v.option(
      "ratio", ratio,
      {.help = "compute the ratio per token, or once per answer (GSPO)", .choices = {"token", "sequence"}});
  v.option("importance_cap", importance_cap,
           {.help = "cap of truncated importance sampling between trainer and sampler; 0 turns it "
                    "off",
            .min = 0});
  v.option("kl_coefficient", kl_coefficient, {.help = "weight of the KL to the starting weights", .min = 0});
  v.option("kl_estimator", kl_estimator,
           {.help = "estimator of the KL to the starting weights", .choices = {"k1", "k3"}});
  v.option("entropy_coefficient", entropy_coefficient, {.help = "weight of the entropy bonus", .min = 0});
  v.option("normalisation", normalisation,
           {.help = "how token losses are averaged. token_mean: over all tokens; seq_mean: over "
                    "answers, of each answer's mean; constant: over answers, of each answer's sum / "
                    "loss.constant",
            .choices = {"token_mean", "seq_mean", "constant"}});
  v.option("constant", constant,
           {.help = "normalisation constant: divisor of an answer's sum", .unit = "tokens", .min = 1});
  v.option("mask_overlong", mask_overlong,
           {.help = "leave answers that hit the length limit out of the loss"});
}

TokenLoss token_loss(const LossOptions& options, const TokenTerms& terms, double log_prob, double entropy) {
  TokenLoss loss;
  if (log_prob == -std::numeric_limits<double>::infinity()) {
    loss.ratio = 0;
  } else {
    add_policy_gradient(options, terms, log_prob, loss);
    if (options.kl_coefficient > 0) add_reference_kl(options, terms, log_prob, loss);
  }
  loss.value = terms.weight * (loss.value - options.entropy_coefficient * entropy);
  loss.d_log_prob *= terms.weight;
  loss.d_entropy = -terms.weight * options.entropy_coefficient;
  return loss;
}

// Source:  token_mean: DAPO, 2503.14476, equation 12; seq_mean: GRPO, 2402.03300, equation 3; constant:
//          Dr. GRPO, 2503.20783, section 3.2
std::vector<std::vector<double>> normalisation_weights(const LossOptions& options,
                                                       std::span<const rollout::BatchRow> rows,
                                                       std::span<const RowAdvantages* const> advantages) {
  TEMPER_CHECK_EQ(rows.size(), advantages.size());
  double tokens = 0, answers = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    for (const rollout::Turn* turn : rows[i].turns()) {
      const int64_t kept = count_kept(*advantages[i], *turn);
      tokens += double(kept);
      answers += kept > 0;
    }
  std::vector<std::vector<double>> weights;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<double>& row = weights.emplace_back(rows[i].ids().size());
    for (const rollout::Turn* turn : rows[i].turns()) {
      const double kept = double(count_kept(*advantages[i], *turn));
      const double weight = options.normalisation == "token_mean" ? 1 / tokens
                            : options.normalisation == "seq_mean" ? 1 / (answers * kept)
                                                                  : 1 / (answers * options.constant);
      for (const rollout::Span span : turn->spans())
        for (int32_t t = span.begin; t < span.end; ++t)
          if (advantages[i]->mask[t]) row[t] = weight;
    }
  }
  return weights;
}

}  // namespace temper::trainer
