#include "policy/kv_cache.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "policy/cuda/device.h"
#include "policy/ops/round_up.h"
#include "policy/policy.h"

namespace temper {
namespace {

int64_t element_bytes(DType dtype) { return dtype == DType::kF64 ? 8 : dtype == DType::kF32 ? 4 : 2; }

std::unique_ptr<CacheStorage> make_storage(const ModelConfig& config, const PolicyOptions& options,
                                           int64_t slots, int64_t max_tokens) {
  if (options.on_gpu()) return cuda::make_cache(config, slots, max_tokens);
  return std::make_unique<CpuCache>(config, options.dtype, slots, max_tokens);
}

}  // namespace

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

KvCache::KvCache(const ModelConfig& config, const PolicyOptions& options, int64_t slots, int64_t max_tokens)
    : storage_(make_storage(config, options, slots, max_tokens)) {}
KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;

int64_t KvCache::slots() const { return int64_t(storage_->lengths.size()); }

int64_t KvCache::length(int64_t slot) const { return storage_->lengths.at(size_t(slot)); }

void KvCache::truncate(int64_t slot, int64_t length) {
  TEMPER_CHECK(length >= 0 && length <= this->length(slot), "{} of {}", length, this->length(slot));
  storage_->truncate(slot, length);
}

void KvCache::copy_prefix(int64_t from, int64_t to, int64_t length) {
  TEMPER_CHECK(length >= 0 && length <= this->length(from), "{} of {}", length, this->length(from));
  storage_->copy_prefix(from, to, length);
}

int64_t KvCache::bytes(const ModelConfig& config, const PolicyOptions& options, int64_t slots,
                       int64_t max_tokens) {
  const int64_t tile = options.on_gpu() ? 128 : cpu::kKeyTile;  // a page, a tile of keys
  return 2 * slots * config.num_hidden_layers * config.num_key_value_heads * round_up(max_tokens, tile) *
         config.head_dim * element_bytes(options.dtype);
}

}  // namespace temper
