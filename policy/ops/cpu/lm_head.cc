#include "policy/ops/cpu/lm_head.h"

#include <algorithm>
#include <limits>

#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/softmax_row.h"
#include "policy/ops/cpu/vector_math.h"

namespace temper::policy::cpu {
namespace {

// x becomes −p · (dl + de · (log p + h)) with log p = scale · x − log_sum. A function of its own: within its
// caller compilers do not vectorise the loop.
template <class T>
void gradient_row(T* x, int64_t n, T scale, T log_sum, T dl, T de, T h) {
  const T constant = dl + de * h;
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    const T log_p = x[j] * scale - log_sum;
    x[j] = -vector_exp(log_p) * (constant + de * log_p);
  }
}

// gradient_row of what is kept.
template <class T>
void gradient_kept_row(T* x, int64_t n, T scale, const KeptRow<T>& kept, T dl, T de, T h) {
  const T constant = dl + de * h, log_sum = T(kept.log_sum_exp), cut = kept.cut;
#pragma omp simd
  for (int64_t j = 0; j < n; ++j) {
    const T log_p = x[j] * scale - log_sum;
    x[j] = x[j] < cut ? T(0) : -vector_exp(log_p) * (constant + de * log_p);
  }
}

}  // namespace

template <class T>
void score_rows(const T* logits, int64_t vocab, int64_t token_count, double temperature,
                std::span<const int32_t> targets, std::span<double> log_prob, std::span<double> entropy) {
  const T scale = T(1 / temperature);
  parallel_rows(int64_t(targets.size()), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = logits + r * vocab;
      const RowStats stats = row_stats(row, token_count, scale);
      log_prob[r] = double(row[targets[r]] * scale) - stats.log_sum_exp;
      entropy[r] = stats.entropy;
    }
  });
}

template <class T>
void score_rows_backward(T* logits, int64_t vocab, int64_t token_count, double temperature,
                         std::span<const int32_t> targets, std::span<const double> log_prob,
                         std::span<const double> entropy, std::span<const double> d_log_prob,
                         std::span<const double> d_entropy) {
  const T scale = T(1 / temperature);
  parallel_rows(int64_t(targets.size()), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T* row = logits + r * vocab;
      const T log_sum = T(double(row[targets[r]] * scale) - log_prob[r]), h = T(entropy[r]);
      const T dl = T(d_log_prob[r]) * scale, de = T(d_entropy[r]) * scale;
      gradient_row(row, token_count, scale, log_sum, dl, de, h);
      std::fill(row + token_count, row + vocab, T(0));
      row[targets[r]] += dl;
    }
  });
}

template <class T>
void score_kept_rows(const T* logits, int64_t vocab, int64_t token_count, double temperature,
                     const Truncation& truncation, std::span<const int32_t> targets,
                     std::span<double> log_prob, std::span<double> entropy, std::span<KeptRow<T>> kept) {
  const T scale = T(1 / temperature);
  parallel_rows(int64_t(targets.size()), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* row = logits + r * vocab;
      const T cut = row_cut(row, token_count, scale, truncation), x = row[targets[r]];
      const RowStats stats = kept_stats(row, token_count, scale, cut);
      kept[r] = {cut, stats.log_sum_exp};
      log_prob[r] =
          kept[r].holds(x) ? double(x * scale) - stats.log_sum_exp : -std::numeric_limits<double>::infinity();
      entropy[r] = stats.entropy;
    }
  });
}

template <class T>
void score_kept_rows_backward(T* logits, int64_t vocab, int64_t token_count, double temperature,
                              std::span<const int32_t> targets, std::span<const KeptRow<T>> kept,
                              std::span<const double> entropy, std::span<const double> d_log_prob,
                              std::span<const double> d_entropy) {
  const T scale = T(1 / temperature);
  parallel_rows(int64_t(targets.size()), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      T* row = logits + r * vocab;
      const T dl = kept[r].holds(row[targets[r]]) ? T(d_log_prob[r]) * scale : T(0);
      gradient_kept_row(row, token_count, scale, kept[r], dl, T(d_entropy[r]) * scale, T(entropy[r]));
      std::fill(row + token_count, row + vocab, T(0));
      row[targets[r]] += dl;
    }
  });
}

#define TEMPER_INSTANTIATE(T)                                                                               \
  template void score_rows(const T*, int64_t, int64_t, double, std::span<const int32_t>, std::span<double>, \
                           std::span<double>);                                                              \
  template void score_rows_backward(T*, int64_t, int64_t, double, std::span<const int32_t>,                 \
                                    std::span<const double>, std::span<const double>,                       \
                                    std::span<const double>, std::span<const double>);
template void score_kept_rows(const float*, int64_t, int64_t, double, const Truncation&,
                              std::span<const int32_t>, std::span<double>, std::span<double>,
                              std::span<KeptRow<float>>);
template void score_kept_rows(const double*, int64_t, int64_t, double, const Truncation&,
                              std::span<const int32_t>, std::span<double>, std::span<double>,
                              std::span<KeptRow<double>>);
template void score_kept_rows_backward(float*, int64_t, int64_t, double, std::span<const int32_t>,
                                       std::span<const KeptRow<float>>, std::span<const double>,
                                       std::span<const double>, std::span<const double>);
template void score_kept_rows_backward(double*, int64_t, int64_t, double, std::span<const int32_t>,
                                       std::span<const KeptRow<double>>, std::span<const double>,
                                       std::span<const double>, std::span<const double>);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy::cpu
