#pragma once
// Row-major products for matrices that are tall and narrow, from pointers, on the calling thread. A general
// BLAS copies both operands first and splits the inner dimension by the shape. Exact: each element is one
// chain of multiply-adds over k, from the first to the last, whatever m and n are.

#include <cstdint>

namespace temper::policy::cpu {

enum class Op { kPlain, kTransposed };

// c [m, n] = op(a) · b, or c += where `accumulate`. `lda` etc.: elements from one stored row to the next.
template <class T>
void gemm(Op op_a, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
          bool accumulate, T* c, int64_t ldc);

// Columns of a panel: two vectors of the widest processors, the same on all.
template <class T>
constexpr int64_t kPanel = 128 / int64_t(sizeof(T));

// The size of a matrix of n columns in panels, [n / kPanel, k, kPanel], an order in which a product reads memory
// contiguously.
template <class T>
constexpr int64_t panels_size(int64_t n, int64_t k) {
  return (n + kPanel<T> - 1) / kPanel<T> * kPanel<T> * k;
}

// xᵀ by panels for x [rows, columns] with rows x_stride apart: k is `columns`, n is `rows`. Columns behind
// the n-th keep what was there.
template <class T>
void pack_transposed(const T* x, int64_t rows, int64_t columns, int64_t x_stride, T* panels);

// gemm with b by panels.
template <class T>
void gemm_panels(int64_t m, int64_t n, int64_t k, const T* a, int64_t lda, const T* panels, bool accumulate,
                 T* c, int64_t ldc);

}  // namespace temper::policy::cpu
