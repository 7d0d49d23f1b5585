// The facade of a cache, declared in policy/policy.h.

#include "base/error.h"
#include "policy/cpu/cache.h"
#include "policy/cuda/make.h"
#include "policy/ops/round_up.h"
#include "policy/policy.h"

namespace temper::policy {
namespace {

int64_t element_bytes(DType dtype) { return dtype == DType::kF64 ? 8 : dtype == DType::kF32 ? 4 : 2; }

std::unique_ptr<CacheStorage> make_storage(const ModelConfig& config, const PolicyOptions& options,
                                           int64_t slots, int64_t max_tokens) {
  if (options.on_gpu()) return cuda::make_cache(config, slots, max_tokens);
  return std::make_unique<CpuCache>(config, options.dtype, slots, max_tokens);
}

}  // namespace

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

}  // namespace temper::policy
