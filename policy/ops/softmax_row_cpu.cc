#include "policy/ops/softmax_row.h"

#include <cmath>

#include "policy/ops/vector_math.h"

namespace temper::cpu {
namespace {

template <class T>
T row_max(const T* x, int64_t n) {
  T m = x[0];
#pragma omp simd reduction(max : m)
  for (int64_t i = 0; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

}  // namespace

template <class T>
RowSum<T> exp_row(T* x, int64_t n, T scale) {
  const T max = row_max(x, n) * scale;
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    x[i] = vector_exp(x[i] * scale - max);
    sum += x[i];
  }
  return {max, sum};
}

template <class T>
RowStats row_stats(const T* x, int64_t n, T scale) {
  const T max = row_max(x, n) * scale;
  T sum = 0, weighted = 0;
#pragma omp simd reduction(+ : sum, weighted)
  for (int64_t i = 0; i < n; ++i) {
    const T z = x[i] * scale - max, e = vector_exp(z);
    sum += e;
    weighted += e * z;
  }
  const double log_sum = std::log(double(sum));
  return {double(max) + log_sum, log_sum - double(weighted) / double(sum)};
}

template RowSum<float> exp_row(float*, int64_t, float);
template RowSum<double> exp_row(double*, int64_t, double);
template RowStats row_stats(const float*, int64_t, float);
template RowStats row_stats(const double*, int64_t, double);

}  // namespace temper::cpu
