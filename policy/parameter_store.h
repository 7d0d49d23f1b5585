#pragma once
// Flat weights, gradients and optimizer moments, and the names and shapes inside them. The only place that
// knows how they are laid out and, later, sharded.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "policy/model_config.h"

namespace temper {

struct ParameterInfo {
  std::string name;  // Hugging Face's, e.g. model.layers.0.self_attn.q_proj.weight
  std::vector<int64_t> shape;
  int64_t offset = 0;  // elements into the flat buffers
  int64_t size = 0;    // elements
  bool decays = true;  // weight decay applies: matrices yes, norms no
};

class ParameterStore {
 public:
  ParameterStore(const ModelConfig& config, DType dtype, at::Device device);

  const std::vector<ParameterInfo>& parameters() const { return parameters_; }
  int64_t size() const { return weights_.numel(); }

  // Flat, [size()]. Weights in the store's dtype; gradients, master and moments in f32 (f64 for f64 weights).
  at::Tensor& weights() { return weights_; }
  const at::Tensor& weights() const { return weights_; }
  // What the optimizer moves: the weights themselves, or, where they are bf16, their f32 origin.
  at::Tensor& master();
  at::Tensor& gradients();  // allocated and zeroed on first use: a policy that only generates has none
  at::Tensor& moment1();
  at::Tensor& moment2();

  // Views into the flat buffers. Errors: TEMPER_CHECK on an unknown name.
  at::Tensor weight(const std::string& name) const;
  at::Tensor gradient(const std::string& name);

  // HF initialisation: normal(0, 0.02), residual projections scaled by 1/sqrt(2L), norms 1. Keyed: depends on
  // seed only.
  void init_random(uint64_t seed);

 private:
  std::vector<ParameterInfo> parameters_;
  at::Tensor weights_, master_, gradients_, moment1_, moment2_;
};

}  // namespace temper
