#pragma once
// From logits to log-probs and entropies of a chunk of rows, and back.

#include <cstdint>
#include <span>

#include "policy/ops/truncation.h"

namespace temper::policy::cpu {

// log p(targets[r]) and the entropy of softmax(logits[r] / temperature), in nats, over the first
// `token_count` ids: rows without a token have probability 0. Targets are among the first. Shapes: logits
// [rows, V] · targets, log_prob, entropy [rows]
template <class T>
void score_rows(const T* logits, int64_t vocab, int64_t token_count, double temperature,
                std::span<const int32_t> targets, std::span<double> log_prob, std::span<double> entropy);

// logits become dLoss/dlogits: with p the softmax, H its entropy, y the target,
//   d_j = (d_log_prob · (1[j = y] − p_j) − d_entropy · p_j · (log p_j + H)) / temperature
// and exactly 0 where there is no token.
template <class T>
void score_rows_backward(T* logits, int64_t vocab, int64_t token_count, double temperature,
                         std::span<const int32_t> targets, std::span<const double> log_prob,
                         std::span<const double> entropy, std::span<const double> d_log_prob,
                         std::span<const double> d_entropy);

// The result of truncating a row.
template <class T>
struct KeptRow {
  T cut;               // the least logit kept
  double log_sum_exp;  // over the kept logits / temperature
  bool holds(T x) const { return !(x < cut); }
};

// score_rows of what truncation leaves, which adds up to 1 again: −inf for a target that is not left.
// Shapes: kept [rows], for the backward
template <class T>
void score_kept_rows(const T* logits, int64_t vocab, int64_t token_count, double temperature,
                     const Truncation& truncation, std::span<const int32_t> targets,
                     std::span<double> log_prob, std::span<double> entropy, std::span<KeptRow<T>> kept);

// score_rows_backward of that, for what is left as it is: 0 at all other logits. The log-prob of a target
// that is not left has no derivative; its d_log_prob counts for nothing.
template <class T>
void score_kept_rows_backward(T* logits, int64_t vocab, int64_t token_count, double temperature,
                              std::span<const int32_t> targets, std::span<const KeptRow<T>> kept,
                              std::span<const double> entropy, std::span<const double> d_log_prob,
                              std::span<const double> d_entropy);

}  // namespace temper::policy::cpu
