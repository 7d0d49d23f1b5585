#pragma once
// Row-major products through the BLAS inside libtorch, straight from pointers: ATen's dispatch costs as much
// as a small product. On one thread where called from a parallel task.

#include <cstdint>

namespace temper::cpu {

enum class Op : char { kPlain = 'N', kTransposed = 'T' };

// c [m, n] = alpha · op(a) · op(b) + beta · c. `lda` etc.: elements from one stored row to the next.
void gemm(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
          const float* b, int64_t ldb, float beta, float* c, int64_t ldc);
void gemm(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
          const double* b, int64_t ldb, double beta, double* c, int64_t ldc);

}  // namespace temper::cpu
