#pragma once
// How a KvCache lies in memory: per slot and layer, K heads of [capacity, hd] keys (in tiles, see
// ops/cached_attention.h) and as many values. Behind a slot's length lies what the memory held before: the
// scores of a tile's unwritten keys are computed, and never looked at.

#include <ATen/core/Tensor.h>

#include <vector>

#include "policy/model_config.h"
#include "policy/ops/cached_attention.h"

namespace temper {

struct CacheStorage {
  CacheStorage(const ModelConfig& config, DType dtype, at::Device device, int64_t slots, int64_t max_tokens);

  // Pointers of one layer; T must be the cache's dtype.
  template <class T>
  cpu::CacheLayer<T> layer(int64_t index) {
    const int64_t head_stride = capacity * head_dim, layer_stride = kv_heads * head_stride;
    return {keys.data_ptr<T>() + index * layer_stride, values.data_ptr<T>() + index * layer_stride,
            layers * layer_stride, head_stride};
  }

  int64_t layers, kv_heads, head_dim;
  int64_t max_tokens;
  int64_t capacity;  // max_tokens rounded up to whole tiles
  at::Tensor keys, values;
  std::vector<int64_t> lengths;  // [slots]
};

}  // namespace temper
