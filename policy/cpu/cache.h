#pragma once
// Keys and values on the CPU.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "policy/cache_storage.h"
#include "policy/model_config.h"
#include "policy/ops/cpu/cached_attention.h"

namespace temper::policy {

// Per slot and layer, K heads of [capacity, hd] keys (in tiles, see ops/cpu/cached_attention.h) and as many
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

}  // namespace temper::policy
