#pragma once
// What computes on a GPU, made where there is one.

#include <memory>

#include "policy/cache_storage.h"
#include "policy/decoder.h"

namespace temper::policy::cuda {

// Errors: ConfigError with unknown_to_gpu's text. Of a window the decoder and the cache refuse the rows that
// leave it.
std::unique_ptr<Decoder> make_decoder(const ModelConfig& config, const PolicyOptions& options);
std::unique_ptr<CacheStorage> make_cache(const ModelConfig& config, int64_t slots, int64_t max_tokens);

}  // namespace temper::policy::cuda
