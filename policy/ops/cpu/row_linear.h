#pragma once
// The product of generation. BLAS picks kernels by the shape, and with them the order in which a row's
// products are added; here each element is one chain of multiply-adds over `in`, from the first to the last.
// Exact: the bits of a row do not depend on the other rows, their number or the machine's vector width.

#include <cstdint>

namespace temper::policy::cpu {

// y [rows, out] = x [rows, in] · w [out, in]ᵀ, or y += where `accumulate`.
template <class T>
void row_linear(const T* x, const T* w, int64_t rows, int64_t in, int64_t out, bool accumulate, T* y);

}  // namespace temper::policy::cpu
