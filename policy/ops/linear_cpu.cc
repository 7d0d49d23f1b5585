#include <algorithm>

#include "policy/ops/gemm.h"
#include "policy/ops/linear.h"

namespace temper::cpu {

template <class T>
void linear(const T* x, const T* w, int64_t rows, int64_t in, int64_t out, bool accumulate, T* y) {
  if (rows == 0) return;
  gemm(Op::kPlain, Op::kTransposed, std::max(rows, kMinRows), out, in, T(1), x, in, w, in, T(accumulate), y,
       out);
}

template <class T>
void linear_backward_input(const T* dy, const T* w, int64_t rows, int64_t in, int64_t out, T* dx) {
  gemm(Op::kPlain, Op::kPlain, rows, in, out, T(1), dy, out, w, in, T(0), dx, in);
}

template <class T>
void linear_backward_weight(const T* dy, const T* x, int64_t rows, int64_t in, int64_t out, T* dw) {
  gemm(Op::kTransposed, Op::kPlain, out, in, rows, T(1), dy, out, x, in, T(1), dw, in);
}

#define TEMPER_INSTANTIATE(T)                                                             \
  template void linear(const T*, const T*, int64_t, int64_t, int64_t, bool, T*);          \
  template void linear_backward_input(const T*, const T*, int64_t, int64_t, int64_t, T*); \
  template void linear_backward_weight(const T*, const T*, int64_t, int64_t, int64_t, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::cpu
