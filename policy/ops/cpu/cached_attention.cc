#include "policy/ops/cpu/cached_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "policy/ops/cpu/lanes.h"
#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/softmax_row.h"

namespace temper::policy::cpu {
namespace {

// s [G, stride]: scores of G queries, hd apart, against one tile of keys; coordinates in order.
template <int G, class T>
void score_tile(const T* q, const T* tile, int64_t hd, int64_t stride, T* s) {
  using L = Lanes<T>;
  constexpr int kVectors = kKeyTile / L::kCount;
  typename L::Vector sums[G][kVectors] = {};
  for (int64_t d = 0; d < hd; ++d)
    for (int g = 0; g < G; ++g)
      for (int v = 0; v < kVectors; ++v)
        sums[g][v] += L::load(tile + d * kKeyTile + v * L::kCount) * q[g * hd + d];
  for (int g = 0; g < G; ++g)
    for (int v = 0; v < kVectors; ++v) L::store(s + g * stride + v * L::kCount, sums[g][v]);
}

// out [G, hd], V vectors of it: inverse_sum · Σ_j p[j] · v[j], tokens in order.
template <int G, int V, class T>
void mix_values(const T* p, int64_t stride, const T* values, int64_t tokens, int64_t hd, const T* inverse_sum,
                T* out) {
  using L = Lanes<T>;
  typename L::Vector sums[G][V] = {};
  for (int64_t j = 0; j < tokens; ++j)
    for (int g = 0; g < G; ++g)
      for (int v = 0; v < V; ++v) sums[g][v] += L::load(values + j * hd + v * L::kCount) * p[g * stride + j];
  for (int g = 0; g < G; ++g)
    for (int v = 0; v < V; ++v) L::store(out + g * hd + v * L::kCount, sums[g][v] * inverse_sum[g]);
}

template <int G, class T>
void mix_all_values(const T* p, int64_t stride, const T* values, int64_t tokens, int64_t hd,
                    const T* inverse_sum, T* out) {
  constexpr int64_t kCount = Lanes<T>::kCount;
  int64_t d = 0;
  for (; d + 2 * kCount <= hd; d += 2 * kCount)
    mix_values<G, 2>(p, stride, values + d, tokens, hd, inverse_sum, out + d);
  for (; d + kCount <= hd; d += kCount)
    mix_values<G, 1>(p, stride, values + d, tokens, hd, inverse_sum, out + d);
  for (; d < hd; ++d)
    for (int g = 0; g < G; ++g) {
      T sum = 0;
      for (int64_t j = 0; j < tokens; ++j) sum += p[g * stride + j] * values[j * hd + d];
      out[g * hd + d] = sum * inverse_sum[g];
    }
}

// G query heads of one key head, each over the keys [first, last).
template <int G, class T>
void attend(const T* q, const T* keys, const T* values, int64_t first, int64_t last, int64_t hd, T* out) {
  static thread_local std::vector<T> kept;
  const int64_t first_tile = first / kKeyTile, tiles = (last + kKeyTile - 1) / kKeyTile - first_tile;
  const int64_t stride = tiles * kKeyTile, tokens = last - first;
  if (int64_t(kept.size()) < G * stride) kept.resize(size_t(G * stride));
  const T scale = T(1) / std::sqrt(T(hd));
  for (int64_t t = 0; t < tiles; ++t)
    score_tile<G>(q, keys + (first_tile + t) * hd * kKeyTile, hd, stride, kept.data() + t * kKeyTile);
  T* p = kept.data() + first % kKeyTile;
  T inverse_sum[G];
  for (int g = 0; g < G; ++g) inverse_sum[g] = T(1) / exp_row(p + g * stride, tokens, scale).sum;
  mix_all_values<G>(p, stride, values + first * hd, tokens, hd, inverse_sum, out);
}

}  // namespace

template <class T>
void cache_append(const AttentionShape& shape, const T* qk, const T* qkv, const int32_t* slots,
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
void cached_attention(const AttentionShape& shape, const T* qk, const int32_t* slots,
                      const int32_t* positions, int64_t rows, const CacheLayer<T>& cache, T* out,
                      int64_t window) {
  const int64_t hd = shape.head_dim;
  parallel_tasks(rows, [&](int64_t r) {
    for (int64_t kv = 0; kv < shape.kv_heads; ++kv) {
      const int64_t base = slots[r] * cache.slot_stride + kv * cache.head_stride;
      const int64_t last = positions[r] + 1, first = window > 0 ? std::max(int64_t(0), last - window) : 0;
      const T *keys = cache.keys + base, *values = cache.values + base;
      const T* q = qk + r * shape.qk_width() + kv * shape.group() * hd;
      T* o = out + r * shape.q_width() + kv * shape.group() * hd;
      int64_t g = 0;
      for (; g + 4 <= shape.group(); g += 4) attend<4>(q + g * hd, keys, values, first, last, hd, o + g * hd);
      for (; g + 2 <= shape.group(); g += 2) attend<2>(q + g * hd, keys, values, first, last, hd, o + g * hd);
      for (; g < shape.group(); ++g) attend<1>(q + g * hd, keys, values, first, last, hd, o + g * hd);
    }
  });
}

#define TEMPER_INSTANTIATE(T)                                                                              \
  template void cache_append(const AttentionShape&, const T*, const T*, const int32_t*, const int32_t*,    \
                             int64_t, const CacheLayer<T>&);                                               \
  template void cached_attention(const AttentionShape&, const T*, const int32_t*, const int32_t*, int64_t, \
                                 const CacheLayer<T>&, T*, int64_t);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy::cpu
