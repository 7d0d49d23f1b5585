#pragma once
// What a device has to do for a Policy. One class per device; the CPU's is a template over f32 and f64.

#include <memory>

#include "policy/cache_storage.h"
#include "policy/calls.h"
#include "policy/parameters/parameter_store.h"

namespace temper::policy {

class Decoder {
 public:
  virtual ~Decoder() = default;

  // Without a gradient only the forward runs.
  virtual TokenScores score(ParameterStore& store, const PackedTokens& pack, const SamplingParams& params,
                            const ScoreGradient* gradient) = 0;
  virtual std::span<const float> extend(const ParameterStore& store, CacheStorage& cache,
                                        std::span<const Extension> extensions) = 0;
  virtual std::vector<SampledToken> sample(const ParameterStore& store, CacheStorage& cache,
                                           std::span<const Extension> extensions,
                                           std::span<const Draw> draws) = 0;
  virtual std::string check_exactness(const ParameterStore&, bool /*prefixes*/) { return ""; }
  // score()'s, which allocates it anew.
  virtual void release_training_memory() = 0;
  // What is held at this moment.
  virtual int64_t workspace_bytes() const = 0;
};

// How many ids may be drawn: options.token_count, or all rows. Errors: TEMPER_CHECK if it is more than those.
int64_t token_count_of(const ModelConfig& config, const PolicyOptions& options);

// Errors: TEMPER_CHECK of a pack or extensions that do not fit the model, or hold an id without a token.
void check_pack(const PackedTokens& pack, int64_t token_count, const ModelConfig& config);
void check_extensions(const CacheStorage& cache, int64_t token_count, const ModelConfig& config,
                      std::span<const Extension> extensions);
std::vector<int32_t> positions_of(const PackedTokens& pack);   // [T]
std::vector<int32_t> scored_tokens(const PackedTokens& pack);  // in order

// Errors: ConfigError naming the dtype or the device that is not there.
std::unique_ptr<Decoder> make_decoder(const ModelConfig& config, const PolicyOptions& options);

}  // namespace temper::policy
