#pragma once
// One row's softmax. Attention, head and sampler all add up here, so that equal inputs give equal bits.

#include <cstdint>

namespace temper::cpu {

template <class T>
struct RowSum {
  T max;  // of scale · x
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

}  // namespace temper::cpu
