#pragma once
// One row's softmax. Attention, head and sampler all add up here, so that equal inputs give equal bits.

#include <cstdint>

#include "policy/ops/truncation.h"

namespace temper::policy::cpu {

template <class T>
struct RowSum {
  T max;  // largest scale · x
  T sum;  // Σ exp(scale · x − max)
};

// x becomes exp(scale · x − max). n > 0, scale > 0.
template <class T>
RowSum<T> exp_row(T* x, int64_t n, T scale);

// log Σ exp(scale · x) and the entropy of softmax(scale · x), in nats.
struct RowStats {
  double log_sum_exp;
  double entropy;
};
template <class T>
RowStats row_stats(const T* x, int64_t n, T scale);

// The least x that truncation leaves of softmax(scale · x); truncation.any().
template <class T>
T row_cut(const T* x, int64_t n, T scale, const Truncation& truncation);

// row_stats of those x alone that are not below `cut`, which the largest is not.
template <class T>
RowStats kept_stats(const T* x, int64_t n, T scale, T cut);

}  // namespace temper::policy::cpu
