#pragma once
// The decoder on CPUs, made of the ops in policy/ops/*_cpu.cc, which take pointers.

#include "policy/cpu/activations.h"
#include "policy/decoder.h"
#include "policy/ops/cpu/rope.h"
#include "policy/ops/shared_keys.h"
#include "policy/parameters/weights.h"

namespace temper::policy {

template <class T>
class CpuDecoder : public Decoder {
 public:
  CpuDecoder(const ModelConfig& config, const PolicyOptions& options);

  TokenScores score(ParameterStore& store, const PackedTokens& pack, const SamplingParams& params,
                    const ScoreGradient* gradient) override;
  std::span<const float> extend(const ParameterStore& store, CacheStorage& cache,
                                std::span<const Extension> extensions) override;
  std::vector<SampledToken> sample(const ParameterStore& store, CacheStorage& cache,
                                   std::span<const Extension> extensions,
                                   std::span<const Draw> draws) override;
  void release_training_memory() override { workspace_.release(); }
  int64_t workspace_bytes() const override { return workspace_.bytes(); }

 private:
  // New tokens of several slots, flat.
  struct NewTokens {
    std::vector<int32_t> ids, slots, positions;
    std::vector<int64_t> last;  // per extension, the index of its last token
  };
  struct ExtendScratch;

  struct HeadChunk;

  void pack_block(const BlockWeights<T>& w, const BlockPanels<T>& panels);
  void block_forward(size_t layer, const BlockWeights<T>& w, const PackedTokens& pack,
                     const Activations<T>& a, T* x_out);
  void compute_again(Keep kept, size_t layer, const BlockWeights<T>& w, const PackedTokens& pack,
                     const Activations<T>& a);
  void feed_forward(const BlockWeights<T>& w, const BlockPanels<T>& panels, int64_t rows,
                    const BlockActivations<T>& b, T* x_out);
  void block_backward(size_t layer, const BlockWeights<T>& w, const BlockWeights<T>& g,
                      const PackedTokens& pack, const BlockActivations<T>& b, const BackwardScratch<T>& s);
  void biases_backward(const BlockWeights<T>& g, int64_t tokens, const BackwardScratch<T>& s);
  void weights_backward(const BlockWeights<T>& g, int64_t tokens, const BlockActivations<T>& b,
                        const BackwardScratch<T>& s);
  TokenScores head(const ModelWeights<T>& w, const ModelWeights<T>* g, const PackedTokens& pack,
                   const Activations<T>& a, const SamplingParams& params, const ScoreGradient* gradient);
  void head_forward(const ModelWeights<T>& w, const Activations<T>& a, const SamplingParams& params,
                    HeadChunk& chunk);
  void head_backward(const ModelWeights<T>& w, const ModelWeights<T>& g, const Activations<T>& a,
                     const SamplingParams& params, const HeadChunk& chunk);

  static ExtendScratch lay_out_extend(Arena& arena, const ModelConfig& config, int64_t rows,
                                      int64_t extensions);
  void extend_block(int64_t layer, const BlockWeights<T>& w, const cpu::CacheLayer<T>& cache,
                    const NewTokens& tokens, int64_t begin, int64_t rows, const ExtendScratch& s);
  void extend_linear(const T* x, const T* weight, const T* bias, int64_t rows, int64_t in, int64_t out,
                     bool accumulate, T* y);

  WeightPointers<T> weights_;
  ModelConfig config_;
  PolicyOptions options_;
  int64_t token_count_;
  AttentionShape shape_;
  cpu::RopeTable<T> rope_;
  Workspace workspace_;
  std::vector<int32_t> positions_;  // positions of the current pack's tokens
  SharedKeys shared_;               // of the current pack
  std::vector<float> logits_;       // extend's answer where T is not float
};

}  // namespace temper::policy
