#pragma once
// Products of a linear layer in training, w [out, in].
// Exact: independent of the number of threads; a row of y or dx does not depend on the other rows.

#include <cstdint>

namespace temper::cpu {

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
