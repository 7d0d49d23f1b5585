#include "policy/parameters/weights.h"

#include <map>

#include "base/error.h"

namespace temper::policy {

namespace {

template <class T>
BlockWeights<T> block_by_role(const std::map<std::string, T*>& at, const std::string& prefix) {
  const auto weight = [&](const char* name) { return at.at(prefix + name); };
  const auto if_any = [&](const char* name) -> T* {
    const auto found = at.find(prefix + name);
    return found == at.end() ? nullptr : found->second;
  };
  BlockWeights<T> w{};
  w.input_norm = weight("input_layernorm.weight");
  w.qkv = weight("self_attn.q_proj.weight");
  w.q_norm = if_any("self_attn.q_norm.weight");
  w.k_norm = if_any("self_attn.k_norm.weight");
  w.o = weight("self_attn.o_proj.weight");
  w.post_norm = weight("post_attention_layernorm.weight");
  w.gate_up = weight("mlp.gate_proj.weight");
  w.down = weight("mlp.down_proj.weight");
  w.qkv_bias = if_any("self_attn.q_proj.bias");
  w.o_bias = if_any("self_attn.o_proj.bias");
  w.gate_up_bias = if_any("mlp.gate_proj.bias");
  w.down_bias = if_any("mlp.down_proj.bias");
  return w;
}

template <class T>
ModelWeights<T> by_role(const std::map<std::string, T*>& at, const ModelConfig& config) {
  ModelWeights<T> w;
  w.embedding = at.at("model.embed_tokens.weight");
  for (int64_t i = 0; i < config.num_hidden_layers; ++i)
    w.blocks.push_back(block_by_role<T>(at, fmt::format("model.layers.{}.", i)));
  w.norm = at.at("model.norm.weight");
  w.head = config.tie_word_embeddings ? w.embedding : at.at("lm_head.weight");
  return w;
}

}  // namespace

template <class T>
ModelWeights<T> weight_pointers(const ParameterStore& store, const ModelConfig& config) {
  std::map<std::string, T*> at;
  for (const auto& p : store.parameters())
    at[p.name] = store.unit_weights(p.unit).template data_ptr<T>() + p.offset - store.units()[p.unit].offset;
  return by_role<T>(at, config);
}

template <class T>
ModelWeights<T> gradient_pointers(ParameterStore& store, const ModelConfig& config) {
  std::map<std::string, T*> at;
  for (const auto& p : store.parameters()) at[p.name] = store.gradient(p).template data_ptr<T>();
  return by_role<T>(at, config);
}

template ModelWeights<float> weight_pointers(const ParameterStore&, const ModelConfig&);
template ModelWeights<double> weight_pointers(const ParameterStore&, const ModelConfig&);
template ModelWeights<at::BFloat16> weight_pointers(const ParameterStore&, const ModelConfig&);
template ModelWeights<float> gradient_pointers(ParameterStore&, const ModelConfig&);
template ModelWeights<double> gradient_pointers(ParameterStore&, const ModelConfig&);

}  // namespace temper::policy
