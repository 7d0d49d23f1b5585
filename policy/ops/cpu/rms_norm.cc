#include <algorithm>
#include <cmath>

#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/rms_norm.h"

namespace temper::policy::cpu {

template <class T>
T rms_norm_row(const T* x, const T* w, double eps, int64_t width, T* y) {
  T squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
  const T rstd = T(1) / std::sqrt(squares / T(width) + T(eps));
  for (int64_t i = 0; i < width; ++i) y[i] = x[i] * rstd * w[i];
  return rstd;
}

template <class T>
void rms_norm_row_backward(const T* dy, const T* x, const T* w, T rstd, int64_t width, T* dx, T* dw) {
  T dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t i = 0; i < width; ++i) dot += dy[i] * w[i] * x[i];
  const T mean = dot * rstd / T(width);
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) {
    const T unit = x[i] * rstd, dy_i = dy[i];
    dw[i] += dy_i * unit;
    dx[i] += rstd * (w[i] * dy_i - unit * mean);
  }
}

template <class T>
void rms_norm(const T* x, const T* w, double eps, int64_t rows, int64_t width, T* y, T* rstd) {
  parallel_rows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) rstd[r] = rms_norm_row(x + r * width, w, eps, width, y + r * width);
  });
}

template <class T>
void rms_norm_backward(const T* dy, const T* x, const T* w, const T* rstd, int64_t rows, int64_t width,
                       const T* residual, T* dx, T* dw_blocks) {
  parallel_rows(rows, [&](int64_t begin, int64_t end) {
    T* dw = dw_blocks + begin / kRowBlock * width;
    std::fill_n(dw, width, T(0));
    for (int64_t r = begin; r < end; ++r) {
      if (dx != residual) std::copy_n(residual + r * width, width, dx + r * width);
      rms_norm_row_backward(dy + r * width, x + r * width, w, rstd[r], width, dx + r * width, dw);
    }
  });
}

template <class T>
void add_blocks(const T* dw_blocks, int64_t blocks, int64_t stride, int64_t width, T* dw) {
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t i = 0; i < width; ++i) dw[i] += dw_blocks[b * stride + i];
}

#define TEMPER_INSTANTIATE(T)                                                                             \
  template T rms_norm_row(const T*, const T*, double, int64_t, T*);                                       \
  template void rms_norm_row_backward(const T*, const T*, const T*, T, int64_t, T*, T*);                  \
  template void rms_norm(const T*, const T*, double, int64_t, int64_t, T*, T*);                           \
  template void rms_norm_backward(const T*, const T*, const T*, const T*, int64_t, int64_t, const T*, T*, \
                                  T*);                                                                    \
  template void add_blocks(const T*, int64_t, int64_t, int64_t, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy::cpu
