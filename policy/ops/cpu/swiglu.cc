#include "policy/ops/cpu/swiglu.h"
#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/vector_math.h"

namespace temper::policy::cpu {

template <class T>
void swiglu(const T* gate_up, int64_t rows, int64_t width, T* y) {
  parallel_rows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* gate = gate_up + r * 2 * width;
      const T* up = gate + width;
      T* out = y + r * width;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) out[i] = gate[i] * sigmoid(gate[i]) * up[i];
    }
  });
}

template <class T>
void swiglu_backward(const T* dy, const T* gate_up, int64_t rows, int64_t width, T* d_gate_up) {
  parallel_rows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* gate = gate_up + r * 2 * width;
      const T* up = gate + width;
      const T* d = dy + r * width;
      T* d_gate = d_gate_up + r * 2 * width;
      T* d_up = d_gate + width;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) {
        const T s = sigmoid(gate[i]), silu = gate[i] * s;
        d_up[i] = d[i] * silu;
        d_gate[i] = d[i] * up[i] * (s + silu * (T(1) - s));
      }
    }
  });
}

#define TEMPER_INSTANTIATE(T)                           \
  template void swiglu(const T*, int64_t, int64_t, T*); \
  template void swiglu_backward(const T*, const T*, int64_t, int64_t, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy::cpu
