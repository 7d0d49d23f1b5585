#include "policy/ops/adamw.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "policy/ops/cpu/parallel.h"

namespace temper::policy::cpu {
namespace {

constexpr int64_t kChunk = 1 << 14;  // elements; fixed, so that sums do not depend on the number of threads

// f(begin, end) for chunks of [0, size), on any thread.
template <class F>
void for_each_chunk(int64_t size, const F& f) {
  parallel_tasks((size + kChunk - 1) / kChunk,
                 [&](int64_t i) { f(i * kChunk, std::min(size, (i + 1) * kChunk)); });
}

// The gradients end as zeros: ATen's own zero_ would wake OpenMP's threads, which then spin beside ours.
template <class T>
void update_elements(T* weights, T* gradients, T* moment1, T* moment2, int64_t size, const AdamWFactors& f) {
  const T scale = T(f.gradient_scale), keep = T(f.keep), step = T(f.step), epsilon = T(f.epsilon);
  const T beta1 = T(f.beta1), beta2 = T(f.beta2), root_correction = T(f.root_correction);
  // Subtracted in f64: 1 − beta2 of a rounded beta2 would be off by eps / (1 − beta2).
  const T rest1 = T(1 - f.beta1), rest2 = T(1 - f.beta2);
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const T gradient = scale * gradients[i];
    moment1[i] = beta1 * moment1[i] + rest1 * gradient;
    moment2[i] = beta2 * moment2[i] + rest2 * gradient * gradient;
    weights[i] = keep * weights[i] - step * moment1[i] / (std::sqrt(moment2[i]) * root_correction + epsilon);
    gradients[i] = 0;
  }
}

}  // namespace

template <class T>
void adamw(T* weights, T* gradients, T* moment1, T* moment2, int64_t size, const AdamWFactors& factors) {
  for_each_chunk(size, [&](int64_t begin, int64_t end) {
    update_elements(weights + begin, gradients + begin, moment1 + begin, moment2 + begin, end - begin,
                    factors);
  });
}

template <class T>
double squared_norm(const T* values, int64_t size) {
  std::vector<double> sums((size + kChunk - 1) / kChunk);
  for_each_chunk(size, [&](int64_t begin, int64_t end) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = begin; i < end; ++i) sum += double(values[i]) * double(values[i]);
    sums[size_t(begin / kChunk)] = sum;
  });
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

#define TEMPER_INSTANTIATE(T)                                                \
  template void adamw(T*, T*, T*, T*, int64_t, const AdamWFactors& factors); \
  template double squared_norm(const T*, int64_t);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy::cpu
