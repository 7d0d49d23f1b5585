#include "policy/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "policy/ops/gemm.h"
#include "policy/ops/parallel.h"
#include "policy/ops/softmax_row.h"
#include "policy/ops/vector_math.h"

namespace temper::cpu {
namespace {

constexpr int64_t kQueryBlock = 64;

// One key head of one sequence: where its rows begin and how far apart they lie.
template <class T>
struct HeadRows {
  HeadRows(const HeadShape& s, T* qk, T* qkv, int64_t start, int64_t kv)
      : q(qk + start * s.qk_width() + kv * s.group() * s.head_dim),
        k(qk + start * s.qk_width() + s.q_width() + kv * s.head_dim),
        v(qkv + start * s.qkv_width() + s.qk_width() + kv * s.head_dim) {}
  T *q, *k, *v;
};

// f(sequence start, length, key head), each once, on any thread.
template <class F>
void for_each_head(const HeadShape& shape, const int32_t* starts, int64_t sequences, const F& f) {
  parallel_tasks(sequences * shape.kv_heads, [&](int64_t task) {
    const int64_t s = task / shape.kv_heads;
    f(int64_t(starts[s]), int64_t(starts[s + 1] - starts[s]), task % shape.kv_heads);
  });
}

// s [rows, keys] = a · bᵀ for `rows` rows of a and `keys` of b.
template <class T>
void scores(const T* a, int64_t a_stride, const T* b, int64_t b_stride, int64_t rows, int64_t keys,
            int64_t hd, T* s) {
  gemm(Op::kPlain, Op::kTransposed, rows, keys, hd, T(1), a, a_stride, b, b_stride, T(0), s, keys);
}

// Probabilities and their gradients of one block of queries.
template <class T>
struct Scratch {
  T *p, *d;
  explicit Scratch(int64_t keys) {
    static thread_local std::vector<T> kept;
    const size_t size = size_t(kQueryBlock * keys);
    if (kept.size() < 2 * size) kept.resize(2 * size);
    p = kept.data();
    d = p + size;
  }
};

// Rows [i0, i0 + rows) of p hold scores against keys [0, keys): unnormalised probabilities, then out /= sum.
template <class T>
void exp_rows(T* p, int64_t i0, int64_t rows, int64_t keys, T scale, int64_t lse_stride, T* lse,
              T* inverse_sum) {
  for (int64_t i = 0; i < rows; ++i) {
    T* row = p + i * keys;
    const int64_t visible = i0 + i + 1;
    const RowSum<T> r = exp_row(row, visible, scale);
    std::fill(row + visible, row + keys, T(0));
    lse[i * lse_stride] = r.max + std::log(r.sum);
    inverse_sum[i] = T(1) / r.sum;
  }
}

// d becomes p · (d − δ) · scale where p = exp(scale · p − lse), δ = d_out · out of that row.
template <class T>
void softmax_backward_rows(const T* d_out, const T* out, int64_t out_stride, int64_t hd, int64_t i0,
                           int64_t rows, int64_t keys, T scale, int64_t lse_stride, const T* lse, T* p,
                           T* d) {
  for (int64_t i = 0; i < rows; ++i) {
    T delta = 0;
#pragma omp simd reduction(+ : delta)
    for (int64_t c = 0; c < hd; ++c) delta += d_out[i * out_stride + c] * out[i * out_stride + c];
    T *pi = p + i * keys, *di = d + i * keys;
    const int64_t visible = i0 + i + 1;
    const T lse_i = lse[i * lse_stride];
#pragma omp simd
    for (int64_t j = 0; j < visible; ++j) {
      pi[j] = vector_exp(pi[j] * scale - lse_i);
      di[j] = pi[j] * (di[j] - delta) * scale;
    }
    std::fill(pi + visible, pi + keys, T(0));
    std::fill(di + visible, di + keys, T(0));
  }
}

template <class T>
void zero_rows(T* x, int64_t rows, int64_t width, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r) std::fill_n(x + r * stride, width, T(0));
}

}  // namespace

template <class T>
void attention(const HeadShape& shape, const T* qk, const T* qkv, const int32_t* starts, int64_t sequences,
               T* out, T* lse) {
  const int64_t hd = shape.head_dim, qk_stride = shape.qk_width(), v_stride = shape.qkv_width();
  const T scale = T(1) / std::sqrt(T(hd));
  for_each_head(shape, starts, sequences, [&](int64_t start, int64_t length, int64_t kv) {
    const HeadRows<const T> rows_of(shape, qk, qkv, start, kv);
    const Scratch<T> scratch(length);
    for (int64_t i0 = 0; i0 < length; i0 += kQueryBlock) {
      const int64_t rows = std::min(kQueryBlock, length - i0), keys = i0 + rows;
      for (int64_t g = 0; g < shape.group(); ++g) {
        const int64_t h = kv * shape.group() + g;
        T* o = out + (start + i0) * shape.q_width() + h * hd;
        T inverse_sum[kQueryBlock];
        scores(rows_of.q + i0 * qk_stride + g * hd, qk_stride, rows_of.k, qk_stride, rows, keys, hd,
               scratch.p);
        exp_rows(scratch.p, i0, rows, keys, scale, shape.heads, lse + (start + i0) * shape.heads + h,
                 inverse_sum);
        gemm(Op::kPlain, Op::kPlain, rows, hd, keys, T(1), scratch.p, keys, rows_of.v, v_stride, T(0), o,
             shape.q_width());
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t c = 0; c < hd; ++c) o[i * shape.q_width() + c] *= inverse_sum[i];
      }
    }
  });
}

template <class T>
void attention_backward(const HeadShape& shape, const T* d_out, const T* qk, const T* qkv, const T* out,
                        const T* lse, const int32_t* starts, int64_t sequences, T* d_qk, T* d_qkv) {
  const int64_t hd = shape.head_dim, qk_stride = shape.qk_width(), v_stride = shape.qkv_width();
  const int64_t o_stride = shape.q_width();
  const T scale = T(1) / std::sqrt(T(hd));
  for_each_head(shape, starts, sequences, [&](int64_t start, int64_t length, int64_t kv) {
    const HeadRows<const T> in(shape, qk, qkv, start, kv);
    const HeadRows<T> grad(shape, d_qk, d_qkv, start, kv);
    const Scratch<T> scratch(length);
    zero_rows(grad.k, length, hd, qk_stride);
    zero_rows(grad.v, length, hd, v_stride);
    for (int64_t i0 = 0; i0 < length; i0 += kQueryBlock) {
      const int64_t rows = std::min(kQueryBlock, length - i0), keys = i0 + rows;
      for (int64_t g = 0; g < shape.group(); ++g) {
        const int64_t h = kv * shape.group() + g, at = (start + i0) * o_stride + h * hd;
        const T* q = in.q + i0 * qk_stride + g * hd;
        T *p = scratch.p, *d = scratch.d;
        scores(q, qk_stride, in.k, qk_stride, rows, keys, hd, p);
        scores(d_out + at, o_stride, in.v, v_stride, rows, keys, hd, d);
        softmax_backward_rows(d_out + at, out + at, o_stride, hd, i0, rows, keys, scale, shape.heads,
                              lse + (start + i0) * shape.heads + h, p, d);
        gemm(Op::kTransposed, Op::kPlain, keys, hd, rows, T(1), p, keys, d_out + at, o_stride, T(1), grad.v,
             v_stride);
        gemm(Op::kPlain, Op::kPlain, rows, hd, keys, T(1), d, keys, in.k, qk_stride, T(0),
             grad.q + i0 * qk_stride + g * hd, qk_stride);
        gemm(Op::kTransposed, Op::kPlain, keys, hd, rows, T(1), d, keys, q, qk_stride, T(1), grad.k,
             qk_stride);
      }
    }
  });
}

#define TEMPER_INSTANTIATE(T)                                                                          \
  template void attention(const HeadShape&, const T*, const T*, const int32_t*, int64_t, T*, T*);      \
  template void attention_backward(const HeadShape&, const T*, const T*, const T*, const T*, const T*, \
                                   const int32_t*, int64_t, T*, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::cpu
