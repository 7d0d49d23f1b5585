#pragma once
// Products of a linear layer, w [out, in].
// Exact: a row of `linear` has the same bits whatever the other rows, and however many.

#include <cstdint>

namespace temper::cpu {

// Below this many rows BLAS takes kernels that add in another order, so fewer are padded with whatever lies
// behind them: the buffers of `linear` have room for kMinRows rows.
constexpr int64_t kMinRows = 8;

// y [rows, out] = x [rows, in] · wᵀ, or y += where `accumulate`.
template <class T>
void linear(const T* x, const T* w, int64_t rows, int64_t in, int64_t out, bool accumulate, T* y);

// dx [rows, in] = dy [rows, out] · w.
template <class T>
void linear_backward_input(const T* dy, const T* w, int64_t rows, int64_t in, int64_t out, T* dx);

// dw [out, in] += dyᵀ · x.
template <class T>
void linear_backward_weight(const T* dy, const T* x, int64_t rows, int64_t in, int64_t out, T* dw);

}  // namespace temper::cpu
