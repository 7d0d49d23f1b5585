#include "policy/policy.h"

#include "base/error.h"
#include "policy/cache_storage.h"
#include "policy/cpu/decoder.h"
#include "policy/cuda/make.h"
#include "policy/keep.h"
#include "policy/layouts.h"

namespace temper::policy {

std::unique_ptr<Decoder> make_decoder(const ModelConfig& config, const PolicyOptions& options) {
  if (options.memory.logits_chunk < 0)
    throw ConfigError("logits_chunk: {} is too small: at least 0", options.memory.logits_chunk);
  check_offloaded(options.memory, config.num_hidden_layers, options.on_gpu());
  if (options.on_gpu()) return cuda::make_decoder(config, options);
  if (options.device != "cpu")
    throw ConfigError("device: '{}' is not supported: must be cpu, cuda or cuda:N", options.device);
  switch (options.dtype) {
    case DType::kF32:
      return std::make_unique<CpuDecoder<float>>(config, options);
    case DType::kF64:
      return std::make_unique<CpuDecoder<double>>(config, options);
    case DType::kBF16:
      break;
  }
  throw ConfigError("dtype: '{}' is not supported on {}: must be f32 or f64", to_string(options.dtype),
                    options.device);
}

struct Policy::Impl {
  Impl(ModelConfig c, PolicyOptions o)
      : config(std::move(c)),
        options(std::move(o)),
        decoder(make_decoder(config, options)),
        parameters(config, options.dtype, at::Device(options.device),
                   options.ranks ? *options.ranks : alone(), options.memory.zero_stage,
                   options.memory.shard_degree, options.memory.offload_optimizer) {}

  ModelConfig config;
  PolicyOptions options;
  std::unique_ptr<Decoder> decoder;
  ParameterStore parameters;
};

Policy::Policy(ModelConfig config, PolicyOptions options)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(options))) {}
Policy::~Policy() = default;
Policy::Policy(Policy&&) noexcept = default;

const ModelConfig& Policy::config() const { return impl_->config; }
const PolicyOptions& Policy::options() const { return impl_->options; }
ParameterStore& Policy::parameters() { return impl_->parameters; }
const ParameterStore& Policy::parameters() const { return impl_->parameters; }
Communicator& Policy::ranks() const { return impl_->parameters.ranks(); }

TokenScores Policy::forward(const PackedTokens& tokens, const SamplingParams& params) {
  return impl_->decoder->score(impl_->parameters, tokens, params, nullptr);
}

TokenScores Policy::forward_backward(const PackedTokens& tokens, const ScoreGradient& gradient,
                                     const SamplingParams& params) {
  return impl_->decoder->score(impl_->parameters, tokens, params, &gradient);
}

void Policy::shard_weights() { impl_->parameters.shard_weights(); }

void Policy::unshard_weights() {
  const bool apart = impl_->options.memory.phases == "apart";
  if (apart || impl_->parameters.sharded()) impl_->decoder->release_training_memory();
  if (apart) impl_->parameters.release_unsummed();
  impl_->parameters.unshard_weights();
}

std::span<const float> Policy::extend(KvCache& cache, std::span<const Extension> extensions) {
  return impl_->decoder->extend(impl_->parameters, *cache.storage_, extensions);
}

std::vector<SampledToken> Policy::sample(KvCache& cache, std::span<const Extension> extensions,
                                         std::span<const Draw> draws) {
  return impl_->decoder->sample(impl_->parameters, *cache.storage_, extensions, draws);
}

std::string Policy::check_exactness(bool prefixes) {
  return impl_->decoder->check_exactness(impl_->parameters, prefixes);
}

int64_t Policy::activation_bytes(int64_t tokens, int64_t scored, int64_t key_copies) const {
  return temper::policy::activation_bytes(impl_->config, impl_->options, tokens, scored, key_copies);
}

int64_t Policy::workspace_bytes() const { return impl_->decoder->workspace_bytes(); }

double Policy::train_flops_per_token(int64_t context) const {
  return temper::policy::train_flops_per_token(impl_->config, context);
}

}  // namespace temper::policy
