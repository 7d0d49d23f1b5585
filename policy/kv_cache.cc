#include "policy/kv_cache.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "policy/policy.h"

namespace temper {
namespace {

int64_t round_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

int64_t element_bytes(DType dtype) { return dtype == DType::kF64 ? 8 : dtype == DType::kF32 ? 4 : 2; }

at::ScalarType scalar_type(DType dtype) { return dtype == DType::kF64 ? at::kDouble : at::kFloat; }

}  // namespace

CacheStorage::CacheStorage(const ModelConfig& config, DType dtype, at::Device device, int64_t slots,
                           int64_t max)
    : layers(config.num_hidden_layers),
      kv_heads(config.num_key_value_heads),
      head_dim(config.head_dim),
      max_tokens(max),
      capacity(round_up(max, cpu::kKeyTile)),
      lengths(size_t(slots), 0) {
  const auto options = at::TensorOptions().dtype(scalar_type(dtype)).device(device);
  keys = at::empty({slots, layers, kv_heads, capacity * head_dim}, options);
  values = at::empty({slots, layers, kv_heads, capacity * head_dim}, options);
}

struct KvCache::Impl : CacheStorage {
  using CacheStorage::CacheStorage;
};

KvCache::KvCache(const ModelConfig& config, const PolicyOptions& options, int64_t slots, int64_t max_tokens)
    : impl_(std::make_unique<Impl>(config, options.dtype, at::Device(options.device), slots, max_tokens)) {}
KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;

CacheStorage& KvCache::storage() { return *impl_; }

int64_t KvCache::slots() const { return int64_t(impl_->lengths.size()); }

int64_t KvCache::length(int64_t slot) const { return impl_->lengths.at(size_t(slot)); }

void KvCache::truncate(int64_t slot, int64_t length) {
  TEMPER_CHECK(length >= 0 && length <= this->length(slot), "{} of {}", length, this->length(slot));
  impl_->lengths[size_t(slot)] = length;
}

void KvCache::copy_prefix(int64_t from, int64_t to, int64_t length) {
  TEMPER_CHECK(length >= 0 && length <= this->length(from), "{} of {}", length, this->length(from));
  const int64_t key_elements = round_up(length, cpu::kKeyTile) * impl_->head_dim;
  impl_->keys[to].narrow(2, 0, key_elements).copy_(impl_->keys[from].narrow(2, 0, key_elements));
  const int64_t value_elements = length * impl_->head_dim;
  impl_->values[to].narrow(2, 0, value_elements).copy_(impl_->values[from].narrow(2, 0, value_elements));
  impl_->lengths.at(size_t(to)) = length;
}

int64_t KvCache::bytes(const ModelConfig& config, DType dtype, int64_t slots, int64_t max_tokens) {
  return 2 * slots * config.num_hidden_layers * config.num_key_value_heads *
         round_up(max_tokens, cpu::kKeyTile) * config.head_dim * element_bytes(dtype);
}

}  // namespace temper
