#include "policy/ops/cpu/softmax_row.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "policy/ops/cpu/vector_math.h"

namespace temper::policy::cpu {
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

template <class T>
T row_cut(const T* x, int64_t n, T scale, const Truncation& truncation) {
  static thread_local std::vector<T> sorted, weights;
  sorted.assign(x, x + n);
  std::ranges::sort(sorted, std::greater());
  auto end = sorted.end();
  if (truncation.top_k > 0 && truncation.top_k < n)
    end = std::ranges::upper_bound(sorted, sorted[size_t(truncation.top_k - 1)], std::greater());
  if (truncation.top_p >= 1) return *(end - 1);
  weights.assign(sorted.begin(), end);
  exp_row(weights.data(), int64_t(weights.size()), scale);
  const double limit = truncation.top_p * std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  size_t last = 0;
  while (last + 1 < weights.size() && (sum += double(weights[last])) < limit) ++last;
  return sorted[last];
}

template <class T>
RowStats kept_stats(const T* x, int64_t n, T scale, T cut) {
  const T max = row_max(x, n) * scale;
  T sum = 0, weighted = 0;
#pragma omp simd reduction(+ : sum, weighted)
  for (int64_t i = 0; i < n; ++i) {
    const T z = x[i] * scale - max, e = x[i] < cut ? T(0) : vector_exp(z);
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
template float row_cut(const float*, int64_t, float, const Truncation&);
template double row_cut(const double*, int64_t, double, const Truncation&);
template RowStats kept_stats(const float*, int64_t, float, float);
template RowStats kept_stats(const double*, int64_t, double, double);

}  // namespace temper::policy::cpu
