#include "policy/cpu/cache.h"

#include <ATen/ATen.h>

#include "policy/ops/round_up.h"

namespace temper::policy {

CpuCache::CpuCache(const ModelConfig& config, DType dtype, int64_t slots, int64_t most)
    : CacheStorage(slots, most),
      layers(config.num_hidden_layers),
      kv_heads(config.num_key_value_heads),
      head_dim(config.head_dim),
      capacity(round_up(most, cpu::kKeyTile)) {
  const auto type = dtype == DType::kF64 ? at::kDouble : at::kFloat;
  keys = at::empty({slots, layers, kv_heads, capacity * head_dim}, type);
  values = at::empty({slots, layers, kv_heads, capacity * head_dim}, type);
}

void CpuCache::copy_prefix(int64_t from, int64_t to, int64_t length) {
  const int64_t key_elements = round_up(length, cpu::kKeyTile) * head_dim;
  keys[to].narrow(2, 0, key_elements).copy_(keys[from].narrow(2, 0, key_elements));
  const int64_t value_elements = length * head_dim;
  values[to].narrow(2, 0, value_elements).copy_(values[from].narrow(2, 0, value_elements));
  lengths.at(size_t(to)) = length;
}

}  // namespace temper::policy
