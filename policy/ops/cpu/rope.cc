#include <algorithm>
#include <cmath>

#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/rms_norm.h"
#include "policy/ops/cpu/rope.h"

namespace temper::policy::cpu {
namespace {

// Turns the pair (x[i], x[i + half]) by its angle; by the opposite one with sign −1.
template <class T>
void rotate(const T* cos, const T* sin, int64_t half, T sign, T* x) {
#pragma omp simd
  for (int64_t i = 0; i < half; ++i) {
    const T a = x[i], b = x[i + half], s = sign * sin[i];
    x[i] = a * cos[i] - b * s;
    x[i + half] = b * cos[i] + a * s;
  }
}

}  // namespace

template <class T>
RopeTable<T>::RopeTable(int64_t positions, std::span<const double> frequencies) {
  const int64_t half = int64_t(frequencies.size());
  cos.resize(size_t(positions * half));
  sin.resize(size_t(positions * half));
  for (int64_t i = 0; i < half; ++i) {
    const double frequency = frequencies[size_t(i)];
    for (int64_t p = 0; p < positions; ++p) {
      cos[size_t(p * half + i)] = T(std::cos(double(p) * frequency));
      sin[size_t(p * half + i)] = T(std::sin(double(p) * frequency));
    }
  }
}

template <class T>
void qk_norm_rope(const AttentionShape& shape, const QkNorm<T>& norm, const RopeTable<T>& table, const T* qkv,
                  const int32_t* positions, int64_t rows, T* qk, T* rstd) {
  const int64_t hd = shape.head_dim, half = hd / 2, heads = shape.heads + shape.kv_heads;
  parallel_rows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* cos = &table.cos[size_t(positions[r] * half)];
      const T* sin = &table.sin[size_t(positions[r] * half)];
      for (int64_t h = 0; h < heads; ++h) {
        const T* w = h < shape.heads ? norm.q_weight : norm.k_weight;
        T* y = qk + r * shape.qk_width() + h * hd;
        const T* x = qkv + r * shape.qkv_width() + h * hd;
        if (w)
          rstd[r * heads + h] = rms_norm_row(x, w, norm.eps, hd, y);
        else
          std::copy_n(x, hd, y);
        rotate(cos, sin, half, T(1), y);
      }
    }
  });
}

template <class T>
void qk_norm_rope_backward(const AttentionShape& shape, const QkNorm<T>& norm, const RopeTable<T>& table,
                           const T* qkv, const int32_t* positions, const T* rstd, int64_t rows, T* d_qk,
                           T* d_qkv, T* dw_blocks) {
  const int64_t hd = shape.head_dim, half = hd / 2, heads = shape.heads + shape.kv_heads;
  parallel_rows(rows, [&](int64_t begin, int64_t end) {
    T* dw = dw_blocks + begin / kRowBlock * 2 * hd;
    std::fill_n(dw, 2 * hd, T(0));
    for (int64_t r = begin; r < end; ++r) {
      const T* cos = &table.cos[size_t(positions[r] * half)];
      const T* sin = &table.sin[size_t(positions[r] * half)];
      T* dx = d_qkv + r * shape.qkv_width();
      std::fill_n(dx, shape.qk_width(), T(0));
      for (int64_t h = 0; h < heads; ++h) {
        const bool query = h < shape.heads;
        T* dy = d_qk + r * shape.qk_width() + h * hd;
        rotate(cos, sin, half, T(-1), dy);
        if (const T* w = query ? norm.q_weight : norm.k_weight)
          rms_norm_row_backward(dy, qkv + r * shape.qkv_width() + h * hd, w, rstd[r * heads + h], hd,
                                dx + h * hd, dw + (query ? 0 : hd));
        else
          std::copy_n(dy, hd, dx + h * hd);
      }
    }
  });
}

#define TEMPER_INSTANTIATE(T)                                                                        \
  template struct RopeTable<T>;                                                                      \
  template void qk_norm_rope(const AttentionShape&, const QkNorm<T>&, const RopeTable<T>&, const T*, \
                             const int32_t*, int64_t, T*, T*);                                       \
  template void qk_norm_rope_backward(const AttentionShape&, const QkNorm<T>&, const RopeTable<T>&,  \
                                      const T*, const int32_t*, const T*, int64_t, T*, T*, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy::cpu
