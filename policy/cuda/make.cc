#include "policy/cuda/make.h"

#include "base/error.h"
#include "policy/cuda/cache.h"
#include "policy/cuda/decoder.h"
#include "policy/cuda/plan.h"

namespace temper::policy::cuda {

std::unique_ptr<Decoder> make_decoder(const ModelConfig& config, const PolicyOptions& options) {
  if (options.dtype != DType::kBF16)
    throw ConfigError("dtype: '{}' is not supported on a GPU: must be bf16", to_string(options.dtype));
  // A row of one token leaves no window.
  if (const std::string problem = unknown_to_gpu(config, 1); !problem.empty())
    throw ConfigError("model on a GPU: {}", problem);
  return std::make_unique<CudaDecoder>(config, options);
}

std::unique_ptr<CacheStorage> make_cache(const ModelConfig& config, int64_t slots, int64_t max_tokens) {
  refuse_window(config, max_tokens);
  return std::make_unique<GpuCache>(config, slots, max_tokens);
}

}  // namespace temper::policy::cuda
