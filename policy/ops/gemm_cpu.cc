#include "policy/ops/gemm.h"

// The Fortran interface that every BLAS has; libtorch exports it.
extern "C" {
void sgemm_(const char* op_a, const char* op_b, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc);
void dgemm_(const char* op_a, const char* op_b, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc);
}

namespace temper::cpu {
namespace {

// Row-major C = A·B is column-major Cᵀ = Bᵀ·Aᵀ.
template <class T, class Blas>
void call(Blas* blas, Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t lda,
          const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  const int im = int(m), in = int(n), ik = int(k), ia = int(lda), ib = int(ldb), ic = int(ldc);
  blas(reinterpret_cast<const char*>(&op_b), reinterpret_cast<const char*>(&op_a), &in, &im, &ik, &alpha, b,
       &ib, a, &ia, &beta, c, &ic);
}

}  // namespace

void gemm(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
          const float* b, int64_t ldb, float beta, float* c, int64_t ldc) {
  call(sgemm_, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void gemm(Op op_a, Op op_b, int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
          const double* b, int64_t ldb, double beta, double* c, int64_t ldc) {
  call(dgemm_, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace temper::cpu
