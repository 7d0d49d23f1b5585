#pragma once
// Products of a linear layer in training, w [out, in].
// Exact: a row of y or dx depends on no other row, nothing on the number of threads.

#include <cstdint>
#include <span>

#include "policy/ops/cpu/gemm.h"

namespace temper::policy::cpu {

// A weight by panels, as `linear` reads it: panels_size<T>(out, in) elements.
template <class T>
struct LinearPanels {
  const T* w;
  int64_t in, out;
  T* panels;
};
template <class T>
void pack_linears(std::span<const LinearPanels<T>> linears);

// y [rows, out] = x [rows, in] · wᵀ, or y += where `accumulate`. On the calling thread, for a tile of rows.
template <class T>
void linear(const T* x, const T* panels, int64_t rows, int64_t in, int64_t out, bool accumulate, T* y);

// y [rows, width] += bias [width]; nothing where it is null. On the calling thread, for a tile of rows.
template <class T>
void add_bias(const T* bias, int64_t rows, int64_t width, T* y);

// dx [rows, in] = dy [rows, out] · w. On the calling thread, for a tile of rows.
template <class T>
void linear_backward_input(const T* dy, const T* w, int64_t rows, int64_t in, int64_t out, T* dx);

// dw [out, in] += dyᵀ · x, for each.
template <class T>
struct WeightGradient {
  const T *dy, *x;  // [rows, out], [rows, in]
  int64_t in, out;
  T* dw;
};
template <class T>
void linear_backward_weights(std::span<const WeightGradient<T>> gradients, int64_t rows);

// d_bias [width] += Σ of the rows of dy [rows, width], in order; nothing where it is null.
template <class T>
void add_bias_backward(const T* dy, int64_t rows, int64_t width, T* d_bias);

}  // namespace temper::policy::cpu
