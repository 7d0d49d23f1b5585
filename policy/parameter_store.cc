#include "policy/parameter_store.h"

#include <ATen/ATen.h>

#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "policy/flat.h"

namespace temper {
namespace {

at::ScalarType scalar_type(DType dtype) {
  return dtype == DType::kF64 ? at::kDouble : dtype == DType::kBF16 ? at::kBFloat16 : at::kFloat;
}

// Lays parameters end to end. Queries, keys and values lie next to each other, and gate and up: one product
// covers them.
class Layout {
 public:
  void matrix(std::string name, int64_t rows, int64_t columns) {
    add(std::move(name), {rows, columns}, true);
  }
  void norm(std::string name, int64_t width) { add(std::move(name), {width}, false); }
  void block(const std::string& prefix, const ModelConfig& c);
  std::vector<ParameterInfo> take() { return std::move(parameters_); }

 private:
  void add(std::string name, std::vector<int64_t> shape, bool decays) {
    int64_t size = 1;
    for (int64_t n : shape) size *= n;
    parameters_.push_back({std::move(name), std::move(shape), end_, size, decays});
    end_ += size;
  }
  std::vector<ParameterInfo> parameters_;
  int64_t end_ = 0;
};

void Layout::block(const std::string& prefix, const ModelConfig& c) {
  const int64_t d = c.hidden_size, q = c.num_attention_heads * c.head_dim,
                kv = c.num_key_value_heads * c.head_dim;
  norm(prefix + "input_layernorm.weight", d);
  matrix(prefix + "self_attn.q_proj.weight", q, d);
  matrix(prefix + "self_attn.k_proj.weight", kv, d);
  matrix(prefix + "self_attn.v_proj.weight", kv, d);
  norm(prefix + "self_attn.q_norm.weight", c.head_dim);
  norm(prefix + "self_attn.k_norm.weight", c.head_dim);
  matrix(prefix + "self_attn.o_proj.weight", d, q);
  norm(prefix + "post_attention_layernorm.weight", d);
  matrix(prefix + "mlp.gate_proj.weight", c.intermediate_size, d);
  matrix(prefix + "mlp.up_proj.weight", c.intermediate_size, d);
  matrix(prefix + "mlp.down_proj.weight", d, c.intermediate_size);
}

std::vector<ParameterInfo> lay_out_parameters(const ModelConfig& c) {
  Layout layout;
  layout.matrix("model.embed_tokens.weight", c.vocab_size, c.hidden_size);
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) layout.block(fmt::format("model.layers.{}.", i), c);
  layout.norm("model.norm.weight", c.hidden_size);
  if (!c.tie_word_embeddings) layout.matrix("lm_head.weight", c.vocab_size, c.hidden_size);
  return layout.take();
}

bool is_residual_projection(const std::string& name) {
  return name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight");
}

at::Tensor view_of(const at::Tensor& flat, const std::vector<ParameterInfo>& parameters,
                   const std::string& name) {
  for (const auto& p : parameters)
    if (p.name == name) return flat.narrow(0, p.offset, p.size).view(p.shape);
  TEMPER_CHECK(false, "no parameter '{}'", name);
}

at::Tensor& zeros_once(at::Tensor& tensor, const at::Tensor& weights) {
  const auto dtype = weights.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  if (!tensor.defined()) tensor = at::zeros({weights.numel()}, weights.options().dtype(dtype));
  return tensor;
}

}  // namespace

ParameterStore::ParameterStore(const ModelConfig& config, DType dtype, at::Device device)
    : parameters_(lay_out_parameters(config)) {
  const auto& last = parameters_.back();
  TEMPER_CHECK_EQ(last.offset + last.size, config.parameter_count());
  weights_ =
      at::zeros({last.offset + last.size}, at::TensorOptions().dtype(scalar_type(dtype)).device(device));
}

at::Tensor& ParameterStore::master() {
  if (weights_.scalar_type() != at::kBFloat16) return weights_;
  if (!master_.defined()) master_ = weights_.to(at::kFloat);
  return master_;
}

at::Tensor& ParameterStore::gradients() { return zeros_once(gradients_, weights_); }
at::Tensor& ParameterStore::moment1() { return zeros_once(moment1_, weights_); }
at::Tensor& ParameterStore::moment2() { return zeros_once(moment2_, weights_); }

at::Tensor ParameterStore::weight(const std::string& name) const {
  return view_of(weights_, parameters_, name);
}

at::Tensor ParameterStore::gradient(const std::string& name) {
  return view_of(gradients(), parameters_, name);
}

void ParameterStore::init_random(uint64_t seed) {
  int64_t blocks = 0;
  for (const auto& p : parameters_) blocks += p.name.ends_with("o_proj.weight");
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const ParameterInfo& p = parameters_[i];
    const at::Tensor values = weights_.narrow(0, p.offset, p.size);
    const double std = 0.02 / (is_residual_projection(p.name) ? std::sqrt(2.0 * double(blocks)) : 1.0);
    if (p.decays) {
      fill_normal(values, mix_key({seed, i}), std);
    } else {
      values.fill_(1);
    }
  }
  master_ = at::Tensor();  // made anew from these
}

}  // namespace temper
