#include "policy/ops/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "policy/ops/cpu/gemm.h"
#include "policy/ops/cpu/lanes.h"
#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/softmax_row.h"
#include "policy/ops/cpu/vector_math.h"
#include "policy/ops/round_up.h"

namespace temper::policy::cpu {
namespace {

constexpr int64_t kQueryBlock = 48;

// Where one key head's columns begin, in the first row of a pack.
template <class T>
struct HeadColumns {
  HeadColumns(const AttentionShape& s, T* qk, T* qkv, int64_t kv)
      : q(qk + kv * s.group() * s.head_dim),
        k(qk + s.q_width() + kv * s.head_dim),
        v(qkv + s.qk_width() + kv * s.head_dim) {}
  T *q, *k, *v;
};

// The queries of a sequence are rows [start, start + length) of the pack. They are the last of its tokens: `keys` keys, of which
// the first is copy number `first_copy` if keys are shared.
struct QueryRows {
  QueryRows(const int32_t* starts, const SharedKeys& shared, int64_t s)
      : start(starts[s]), length(starts[s + 1] - starts[s]), keys(length), first_copy(0), rows(nullptr) {
    if (!shared.any()) return;
    first_copy = shared.starts[size_t(s)];
    keys = shared.starts[size_t(s) + 1] - first_copy;
    rows = &shared.rows[size_t(first_copy)];
  }
  int64_t before() const { return keys - length; }
  int64_t row_of_key(int64_t j) const { return rows ? rows[j] : start + j; }

  int64_t start, length, keys, first_copy;
  const int32_t* rows;
};

// f(sequence, key head), each once, on any thread; the longest first, so that none is left alone with one at
// the end.
template <class F>
void for_each_head(const AttentionShape& shape, const int32_t* starts, int64_t sequences,
                   const SharedKeys& shared, const F& f) {
  std::vector<QueryRows> order;
  for (int64_t s = 0; s < sequences; ++s) order.emplace_back(starts, shared, s);
  std::ranges::stable_sort(order, std::greater(), [](const QueryRows& q) { return q.length * q.keys; });
  parallel_tasks(sequences * shape.kv_heads,
                 [&](int64_t task) { f(order[size_t(task / shape.kv_heads)], task % shape.kv_heads); });
}

// The working memory of one key head: its keys and values in the layout that products read best, and one block of
// queries.
template <class T>
struct Scratch {
  T *k, *v;                // [keys, hd]
  T *k_panels, *v_panels;  // transposed
  T *dk, *dv;              // [keys, hd]
  T *p, *d;                // [kQueryBlock, stride] probabilities and their gradients
  int64_t stride;  // off the powers of two: rows of one column would share few places in the nearest cache

  Scratch(int64_t keys, int64_t hd) : stride(round_up(keys, kPanel<T>) + Lanes<T>::kCount) {
    static thread_local std::vector<T> kept;
    const int64_t rows = keys * hd, panels = panels_size<T>(keys, hd), block = kQueryBlock * stride;
    const size_t size = size_t(4 * rows + 2 * panels + 2 * block);
    if (kept.size() < size) kept.resize(size);
    T* next = kept.data();
    for (auto [piece, count] : {std::pair{&k_panels, panels},
                                {&v_panels, panels},
                                {&p, block},
                                {&d, block},
                                {&k, rows},
                                {&v, rows},
                                {&dk, rows},
                                {&dv, rows}})
      *piece = next, next += count;
  }
};

template <class T>
void copy_rows(const T* x, int64_t x_stride, int64_t rows, int64_t width, T* y, int64_t y_stride) {
  for (int64_t r = 0; r < rows; ++r) std::copy_n(x + r * x_stride, width, y + r * y_stride);
}

// y [keys, hd]: the sequence's keys or values, of which x has the pack's.
template <class T>
void copy_keys(const QueryRows& q, const T* x, int64_t x_stride, int64_t hd, T* y) {
  for (int64_t j = 0; j < q.keys; ++j) std::copy_n(x + q.row_of_key(j) * x_stride, hd, y + j * hd);
}

// y [width]: the sum of a token's copies in x, rows of which are `stride` apart.
template <class T>
void add_copies(const SharedKeys& shared, int64_t token, const T* x, int64_t stride, int64_t width, T* y) {
  const auto begin = size_t(shared.begins[size_t(token)]), end = size_t(shared.begins[size_t(token) + 1]);
  std::copy_n(x + shared.copies[begin] * stride, width, y);
  for (size_t k = begin + 1; k < end; ++k) {
    const T* copy = x + shared.copies[k] * stride;
    for (int64_t c = 0; c < width; ++c) y[c] += copy[c];
  }
}

// s [rows, stride]: `rows` rows of a, times the panels' columns, whole vectors of them.
template <class T>
void scores(const T* a, int64_t a_stride, const T* panels, int64_t rows, int64_t keys, int64_t hd, T* s,
            int64_t stride) {
  gemm_panels(rows, round_up(keys, Lanes<T>::kCount), hd, a, a_stride, panels, false, s, stride);
}

// The keys [begin, end) that a block of queries is multiplied with, whose own keys are [i0, i0 + rows), and those of
// them that each query sees. They begin where the panels of keys do.
struct Visible {
  Visible(int64_t first_query, int64_t rows, int64_t width, int64_t panel)
      : i0(first_query),
        window(width),
        begin(width > 0 ? std::max(int64_t(0), first_query + 1 - width) / panel * panel : 0),
        end(first_query + rows) {}
  int64_t keys() const { return end - begin; }
  // Of query i0 + i, counted from `begin`.
  int64_t from(int64_t i) const { return window > 0 ? std::max(begin, i0 + i + 1 - window) - begin : 0; }
  int64_t to(int64_t i) const { return i0 + i + 1 - begin; }

  int64_t i0, window, begin, end;
};

template <class T>
void clear_outside(T* row, int64_t from, int64_t to, int64_t keys) {
  std::fill(row, row + from, T(0));
  std::fill(row + to, row + keys, T(0));
}

// Rows of p hold scores against the keys: unnormalised probabilities, then out /= sum.
template <class T>
void exp_rows(T* p, int64_t stride, const Visible& visible, int64_t rows, T scale, int64_t lse_stride, T* lse,
              T* inverse_sum) {
  for (int64_t i = 0; i < rows; ++i) {
    T* row = p + i * stride;
    const int64_t from = visible.from(i), to = visible.to(i);
    const RowSum<T> r = exp_row(row + from, to - from, scale);
    clear_outside(row, from, to, visible.keys());
    lse[i * lse_stride] = r.max + std::log(r.sum);
    inverse_sum[i] = T(1) / r.sum;
  }
}

// d becomes p · (d − δ) · scale where p = exp(scale · p − lse), δ = d_out · out of that row.
template <class T>
void softmax_backward_rows(const T* d_out, const T* out, int64_t out_stride, int64_t hd,
                           const Visible& visible, int64_t rows, T scale, int64_t lse_stride, const T* lse,
                           T* p, T* d, int64_t stride) {
  for (int64_t i = 0; i < rows; ++i) {
    T delta = 0;
#pragma omp simd reduction(+ : delta)
    for (int64_t c = 0; c < hd; ++c) delta += d_out[i * out_stride + c] * out[i * out_stride + c];
    T *pi = p + i * stride, *di = d + i * stride;
    const int64_t from = visible.from(i), to = visible.to(i);
    const T lse_i = lse[i * lse_stride];
#pragma omp simd
    for (int64_t j = from; j < to; ++j) {
      pi[j] = vector_exp(pi[j] * scale - lse_i);
      di[j] = pi[j] * (di[j] - delta) * scale;
    }
    clear_outside(pi, from, to, visible.keys());
    clear_outside(di, from, to, visible.keys());
  }
}

}  // namespace

template <class T>
void attention(const AttentionShape& shape, const T* qk, const T* qkv, const int32_t* starts,
               int64_t sequences, T* out, T* lse, int64_t window, const SharedKeys& shared) {
  const int64_t hd = shape.head_dim, qk_stride = shape.qk_width(), v_stride = shape.qkv_width();
  const T scale = T(1) / std::sqrt(T(hd));
  for_each_head(shape, starts, sequences, shared, [&](const QueryRows& sequence, int64_t kv) {
    const HeadColumns<const T> in(shape, qk, qkv, kv);
    const Scratch<T> s(sequence.keys, hd);
    copy_keys(sequence, in.k, qk_stride, hd, s.k);
    copy_keys(sequence, in.v, v_stride, hd, s.v);
    pack_transposed(s.k, sequence.keys, hd, hd, s.k_panels);
    for (int64_t i0 = 0; i0 < sequence.length; i0 += kQueryBlock) {
      const int64_t rows = std::min(kQueryBlock, sequence.length - i0), row = sequence.start + i0;
      const Visible visible(sequence.before() + i0, rows, window, kPanel<T>);
      const int64_t keys = visible.keys(), behind = visible.begin * hd;
      for (int64_t g = 0; g < shape.group(); ++g) {
        const int64_t h = kv * shape.group() + g;
        T* o = out + row * shape.q_width() + h * hd;
        T inverse_sum[kQueryBlock];
        scores(in.q + row * qk_stride + g * hd, qk_stride, s.k_panels + behind, rows, keys, hd, s.p,
               s.stride);
        exp_rows(s.p, s.stride, visible, rows, scale, shape.heads, lse + row * shape.heads + h, inverse_sum);
        gemm(Op::kPlain, rows, hd, keys, s.p, s.stride, s.v + behind, hd, false, o, shape.q_width());
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t c = 0; c < hd; ++c) o[i * shape.q_width() + c] *= inverse_sum[i];
      }
    }
  });
}

template <class T>
void attention_backward(const AttentionShape& shape, const T* d_out, const T* qk, const T* qkv, const T* out,
                        const T* lse, const int32_t* starts, int64_t sequences, T* d_qk, T* d_qkv,
                        int64_t window, const SharedKeys& shared, T* d_keys) {
  const int64_t hd = shape.head_dim, qk_stride = shape.qk_width(), v_stride = shape.qkv_width();
  const int64_t o_stride = shape.q_width();
  const T scale = T(1) / std::sqrt(T(hd));
  const int64_t kv_width = shape.kv_heads * hd, key_stride = 2 * kv_width;
  for_each_head(shape, starts, sequences, shared, [&](const QueryRows& sequence, int64_t kv) {
    const HeadColumns<const T> in(shape, qk, qkv, kv);
    const HeadColumns<T> grad(shape, d_qk, d_qkv, kv);
    const Scratch<T> s(sequence.keys, hd);
    copy_keys(sequence, in.k, qk_stride, hd, s.k);
    copy_keys(sequence, in.v, v_stride, hd, s.v);
    pack_transposed(s.k, sequence.keys, hd, hd, s.k_panels);
    pack_transposed(s.v, sequence.keys, hd, hd, s.v_panels);
    std::fill_n(s.dk, sequence.keys * hd, T(0));
    std::fill_n(s.dv, sequence.keys * hd, T(0));
    for (int64_t i0 = 0; i0 < sequence.length; i0 += kQueryBlock) {
      const int64_t rows = std::min(kQueryBlock, sequence.length - i0), row = sequence.start + i0;
      const Visible visible(sequence.before() + i0, rows, window, kPanel<T>);
      const int64_t keys = visible.keys(), behind = visible.begin * hd;
      for (int64_t g = 0; g < shape.group(); ++g) {
        const int64_t h = kv * shape.group() + g, at = row * o_stride + h * hd;
        const T* q = in.q + row * qk_stride + g * hd;
        scores(q, qk_stride, s.k_panels + behind, rows, keys, hd, s.p, s.stride);
        scores(d_out + at, o_stride, s.v_panels + behind, rows, keys, hd, s.d, s.stride);
        softmax_backward_rows(d_out + at, out + at, o_stride, hd, visible, rows, scale, shape.heads,
                              lse + row * shape.heads + h, s.p, s.d, s.stride);
        gemm(Op::kTransposed, keys, hd, rows, s.p, s.stride, d_out + at, o_stride, true, s.dv + behind, hd);
        gemm(Op::kPlain, rows, hd, keys, s.d, s.stride, s.k + behind, hd, false,
             grad.q + row * qk_stride + g * hd, qk_stride);
        gemm(Op::kTransposed, keys, hd, rows, s.d, s.stride, q, qk_stride, true, s.dk + behind, hd);
      }
    }
    if (shared.any()) {
      T* const to = d_keys + sequence.first_copy * key_stride + kv * hd;
      copy_rows(s.dk, hd, sequence.keys, hd, to, key_stride);
      copy_rows(s.dv, hd, sequence.keys, hd, to + kv_width, key_stride);
    } else {
      copy_rows(s.dk, hd, sequence.keys, hd, grad.k + sequence.start * qk_stride, qk_stride);
      copy_rows(s.dv, hd, sequence.keys, hd, grad.v + sequence.start * v_stride, v_stride);
    }
  });
  if (!shared.any()) return;
  parallel_rows(starts[sequences], [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      add_copies(shared, t, d_keys, key_stride, kv_width, d_qk + t * qk_stride + shape.q_width());
      add_copies(shared, t, d_keys + kv_width, key_stride, kv_width, d_qkv + t * v_stride + shape.qk_width());
    }
  });
}

#define TEMPER_INSTANTIATE(T)                                                                               \
  template void attention(const AttentionShape&, const T*, const T*, const int32_t*, int64_t, T*, T*,       \
                          int64_t, const SharedKeys&);                                                      \
  template void attention_backward(const AttentionShape&, const T*, const T*, const T*, const T*, const T*, \
                                   const int32_t*, int64_t, T*, T*, int64_t, const SharedKeys&, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy::cpu
