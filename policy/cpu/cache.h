#pragma once
// The storage of a KvCache, which each device implements in its own way.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "policy/cache_storage.h"
#include "policy/model_config.h"
#include "policy/ops/cpu/cached_attention.h"

namespace temper {

struct CacheStorage {
  CacheStorage(int64_t slots, int64_t most) : max_tokens(most), lengths(size_t(slots), 0) {}
  virtual ~CacheStorage() = default;
  virtual void truncate(int64_t slot, int64_t length) { lengths[size_t(slot)] = length; }
  virtual void copy_prefix(int64_t from, int64_t to, int64_t length) = 0;

  int64_t max_tokens;
  std::vector<int64_t> lengths;  // [slots]
};

// Per slot and layer, K heads of [capacity, hd] keys (in tiles, see ops/cached_attention.h) and as many
// values. Beyond a slot's length the memory holds old data: the scores of a tile's unwritten keys are computed but
// never used.
struct CpuCache : CacheStorage {
  CpuCache(const ModelConfig& config, DType dtype, int64_t slots, int64_t max_tokens);
  void copy_prefix(int64_t from, int64_t to, int64_t length) override;

  // Pointers of one layer; T must be the cache's dtype.
  template <class T>
  cpu::CacheLayer<T> layer(int64_t index) {
    const int64_t head_stride = capacity * head_dim, layer_stride = kv_heads * head_stride;
    return {keys.data_ptr<T>() + index * layer_stride, values.data_ptr<T>() + index * layer_stride,
            layers * layer_stride, head_stride};
  }

  int64_t layers, kv_heads, head_dim;
  int64_t capacity;  // max_tokens rounded up to whole tiles
  at::Tensor keys, values;
};

}  // namespace temper
