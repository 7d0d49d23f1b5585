#include "policy/ops/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "policy/ops/parallel.h"
#include "policy/ops/softmax_row.h"

namespace temper::cpu {
namespace {

// s [kKeyTile] = q · tile, coordinates in order.
template <class T>
void score_tile(const T* q, const T* tile, int64_t hd, T* s) {
  T sum[kKeyTile] = {};
  for (int64_t d = 0; d < hd; ++d)
#pragma omp simd
    for (int64_t j = 0; j < kKeyTile; ++j) sum[j] += q[d] * tile[d * kKeyTile + j];
  for (int64_t j = 0; j < kKeyTile; ++j) s[j] = sum[j];
}

// out [kWidth] = inverse_sum · Σ_j p[j] · v[j], tokens in order.
template <int64_t kWidth, class T>
void mix_values(const T* p, const T* v, int64_t tokens, int64_t hd, T inverse_sum, T* out) {
  T sum[kWidth] = {};
  for (int64_t j = 0; j < tokens; ++j)
#pragma omp simd
    for (int64_t d = 0; d < kWidth; ++d) sum[d] += p[j] * v[j * hd + d];
  for (int64_t d = 0; d < kWidth; ++d) out[d] = sum[d] * inverse_sum;
}

template <class T>
void mix_all_values(const T* p, const T* v, int64_t tokens, int64_t hd, T inverse_sum, T* out) {
  int64_t d = 0;
  for (; d + 32 <= hd; d += 32) mix_values<32>(p, v + d, tokens, hd, inverse_sum, out + d);
  for (; d + 8 <= hd; d += 8) mix_values<8>(p, v + d, tokens, hd, inverse_sum, out + d);
  for (; d < hd; ++d) mix_values<1>(p, v + d, tokens, hd, inverse_sum, out + d);
}

}  // namespace

template <class T>
void cache_append(const HeadShape& shape, const T* qk, const T* qkv, const int32_t* slots,
                  const int32_t* positions, int64_t rows, const CacheLayer<T>& cache) {
  const int64_t hd = shape.head_dim;
  parallel_rows(rows, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t tile = positions[r] / kKeyTile, lane = positions[r] % kKeyTile;
      for (int64_t kv = 0; kv < shape.kv_heads; ++kv) {
        const int64_t base = slots[r] * cache.slot_stride + kv * cache.head_stride;
        const T* k = qk + r * shape.qk_width() + shape.q_width() + kv * hd;
        const T* v = qkv + r * shape.qkv_width() + shape.qk_width() + kv * hd;
        T* key = cache.keys + base + tile * hd * kKeyTile + lane;
        for (int64_t d = 0; d < hd; ++d) key[d * kKeyTile] = k[d];
        std::copy_n(v, hd, cache.values + base + positions[r] * hd);
      }
    }
  });
}

template <class T>
void cached_attention(const HeadShape& shape, const T* qk, const int32_t* slots, const int32_t* positions,
                      int64_t rows, const CacheLayer<T>& cache, T* out) {
  const int64_t hd = shape.head_dim;
  const T scale = T(1) / std::sqrt(T(hd));
  parallel_tasks(rows, [&](int64_t r) {
    static thread_local std::vector<T> p;
    const int64_t tokens = positions[r] + 1, tiles = (tokens + kKeyTile - 1) / kKeyTile;
    if (int64_t(p.size()) < tiles * kKeyTile) p.resize(size_t(tiles * kKeyTile));
    for (int64_t h = 0; h < shape.heads; ++h) {
      const int64_t base = slots[r] * cache.slot_stride + h / shape.group() * cache.head_stride;
      const T* q = qk + r * shape.qk_width() + h * hd;
      for (int64_t t = 0; t < tiles; ++t)
        score_tile(q, cache.keys + base + t * hd * kKeyTile, hd, &p[size_t(t * kKeyTile)]);
      const T sum = exp_row(p.data(), tokens, scale).sum;
      mix_all_values(p.data(), cache.values + base, tokens, hd, T(1) / sum,
                     out + r * shape.q_width() + h * hd);
    }
  });
}

#define TEMPER_INSTANTIATE(T)                                                                               \
  template void cache_append(const HeadShape&, const T*, const T*, const int32_t*, const int32_t*, int64_t, \
                             const CacheLayer<T>&);                                                         \
  template void cached_attention(const HeadShape&, const T*, const int32_t*, const int32_t*, int64_t,       \
                                 const CacheLayer<T>&, T*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::cpu
