#pragma once
// Attention of new tokens over the keys and values that a cache holds. It computes the same sums in the same order
// as `attention`.

#include <cstdint>

#include "policy/ops/attention_shape.h"

namespace temper::policy::cpu {

// Keys lie in tiles, [tile, hd, kKeyTile]: the scores of a tile are kKeyTile lanes wide and need no sum
// across lanes.
constexpr int64_t kKeyTile = 32;

// One layer of a cache: key (slot, head) at keys + slot·slot_stride + head·head_stride; values likewise,
// [token, hd].
template <class T>
struct CacheLayer {
  T* keys;
  T* values;
  int64_t slot_stride;
  int64_t head_stride;  // capacity · hd, capacity a multiple of kKeyTile
};

// Row r is token positions[r] of slot slots[r]. Puts its key and value in place.
// Shapes: qk [rows, (H+K)·hd] · qkv [rows, (H+2K)·hd]
template <class T>
void cache_append(const AttentionShape& shape, const T* qk, const T* qkv, const int32_t* slots,
                  const int32_t* positions, int64_t rows, const CacheLayer<T>& cache);

// out [rows, H·hd]: each row over keys 0 … positions[r] of its slot, or over the last `window` of them.
// Exact: row by row, whatever the other rows.
template <class T>
void cached_attention(const AttentionShape& shape, const T* qk, const int32_t* slots,
                      const int32_t* positions, int64_t rows, const CacheLayer<T>& cache, T* out,
                      int64_t window = 0);

}  // namespace temper::policy::cpu
