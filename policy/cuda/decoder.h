#pragma once
// The decoder on one GPU: bf16, heads of 64 or 128.
//
// Training, prefill and generation run the same ops on the same weights. Products add over k in the same order for
// any number of rows; packs use cuDNN's attention, and tokens that follow cached keys an attention with the same
// arithmetic. A token's log-prob therefore has the same bits in all three. The ops of a block are called in one
// place, `block`, so that no second copy of them can come to differ.

#include <cuda_runtime_api.h>

#include <functional>

#include "policy/cuda/activations.h"
#include "policy/cuda/cache.h"
#include "policy/cuda/offloaded_blocks.h"
#include "policy/cuda/steps.h"
#include "policy/decoder.h"
#include "policy/ops/cuda/attention/attention.h"
#include "policy/ops/cuda/device/memory.h"
#include "policy/ops/cuda/ops.h"
#include "policy/ops/cuda/products/products.h"
#include "policy/parameters/weights.h"

namespace temper::policy {

class CudaDecoder : public Decoder {
 public:
  CudaDecoder(const ModelConfig& config, const PolicyOptions& options);

  TokenScores score(ParameterStore& store, const PackedTokens& pack, const SamplingParams& params,
                    const ScoreGradient* gradient) override;
  std::span<const float> extend(const ParameterStore& store, CacheStorage& cache,
                                std::span<const Extension> extensions) override;
  std::vector<SampledToken> sample(const ParameterStore& store, CacheStorage& cache,
                                   std::span<const Extension> extensions,
                                   std::span<const Draw> draws) override;
  std::string check_exactness(const ParameterStore& store, bool prefixes) override;
  void release_training_memory() override { training_.release(); }
  int64_t workspace_bytes() const override;

 private:
  using bf16 = at::BFloat16;
  using Weights = ModelWeights<bf16>;
  using Gradients = ModelWeights<float>;
  struct HeadChunk;

  // The rows of a block. Keys and values go into `pages`, if these have a base.
  struct BlockTokens {
    int64_t count = 0;
    const int32_t* positions = nullptr;  // [count]
    cuda::Pages pages;
  };
  // From r.x to r.x_out, or to r.gate_up if x_out is null. `attend` enqueues the attention, from r.qk and r.qkv to
  // r.mixed.
  void block(const BlockWeights<bf16>& w, const BlockTokens& tokens, const BlockRows& r,
             const std::function<void()>& attend);

  void gate_up(const BlockWeights<bf16>& w, int64_t count, const BlockRows& r);

  void check_window(const PackedTokens& pack) const;

  // score
  int64_t upload(const PackedTokens& pack, const std::vector<int32_t>& scored, const SharedKeys& shared,
                 const GpuPack& to, bool backward);
  void copy_shared_keys(const GpuPack& pack, const GpuBlock& b, const GpuScratch& s);
  void block_forward(const BlockWeights<bf16>& w, int64_t tokens, const GpuPack& pack, const GpuBlock& b,
                     const GpuScratch& s, bf16* x_out);
  void compute_again(Keep kept, const BlockWeights<bf16>& w, int64_t tokens, const GpuPack& pack,
                     const GpuBlock& b, const GpuScratch& s);
  // Where gradients go: they are added to what is there, or take its place (ParameterStore::begin_unit).
  struct BlockGradients : BlockWeights<float> {
    bool add;
  };
  void block_backward(const BlockWeights<bf16>& w, const BlockGradients& g, int64_t tokens,
                      const GpuPack& pack, const GpuBlock& b, const GpuScratch& s);
  void feed_forward_backward(const BlockWeights<bf16>& w, const BlockGradients& g, int64_t tokens,
                             const GpuBlock& b, const GpuScratch& s);
  void attention_backward(const BlockWeights<bf16>& w, const BlockGradients& g, int64_t tokens,
                          const GpuPack& pack, const GpuBlock& b, const GpuScratch& s);
  void bias_backward(const bf16* dy, int64_t rows, int64_t width, bool add, float* d_bias,
                     const GpuScratch& s);
  void norm_backward(const bf16* x, const int32_t* index, const bf16* w, int64_t rows, const bf16* dy,
                     bool add, float* dw, const GpuScratch& s);
  struct HeadGradients {
    float *norm, *head;
    bool add_norm, add_head;
  };
  HeadGradients begin_head(ParameterStore& store, const Gradients& g) const;
  // `g` null: forward alone.
  TokenScores head(const Weights& w, HeadGradients* g, const PackedTokens& pack,
                   const std::vector<int32_t>& scored, const GpuActivations& a, const SamplingParams& params,
                   const ScoreGradient* gradient);
  void head_forward(const Weights& w, const GpuActivations& a, const SamplingParams& params,
                    HeadChunk& chunk);
  void head_backward(const Weights& w, HeadGradients& g, const GpuActivations& a,
                     const SamplingParams& params, const HeadChunk& chunk);

  // generation
  struct NewTokens;
  struct Prefill;
  struct Logits {
    const bf16* values = nullptr;  // [·, V]
    std::vector<int32_t> row;      // row of each extension
  };
  bool is_step(std::span<const Extension> extensions, std::span<const Draw> draws) const;
  std::vector<SampledToken> step(const Weights& w, GpuCache& cache, std::span<const Extension> extensions,
                                 std::span<const Draw> draws);
  void enqueue_step(const Weights& w, const GpuCache& cache, const StepBuffers& s, int64_t rows);
  std::vector<int32_t> begin_step(const Weights& w, GpuCache& cache, std::span<const Extension> extensions,
                                  std::span<const Draw> draws);
  void begin_next(const Weights& w, GpuCache& cache, const DecodeStep& now, std::span<const int32_t> places,
                  std::span<const Draw> draws);
  void launch(const Weights& w, GpuCache& cache, DecodeStep step, bool first);
  Logits prefill(const Weights& w, GpuCache& cache, std::span<const Extension> extensions);
  void prefill_rows(const Weights& w, const GpuCache& cache, const NewTokens& tokens, bool fresh,
                    const Prefill& p, bf16* normed);
  void extend_block(const BlockWeights<bf16>& w, const cuda::Pages& pages, const int32_t* positions,
                    int64_t rows, bool fresh, const BlockRows& r);
  std::vector<SampledToken> draw(const Logits& logits, std::span<const Draw> draws);
  std::vector<float> logits_on_host(const bf16* logits, int64_t rows);

  ModelConfig config_;
  PolicyOptions options_;
  int64_t token_count_;
  AttentionShape shape_;
  cudaStream_t stream_;
  WeightPointers<bf16> weights_;
  cuda::Products products_;
  cuda::PackedAttention attention_;
  at::Tensor rope_table_;  // [positions, 2, hd/2] f32
  cuda::Staging staging_;  // used by upload
  Workspace training_, extending_, drawing_;
  OffloadedBlocks offloaded_;
  std::vector<float> logits_;  // extend's answer
  StepGraphs graphs_;
  DecodeStep ahead_;  // launched and not heard
};

}  // namespace temper::policy
