#include "policy/weights.h"

#include <map>

#include "base/error.h"

namespace temper {

namespace {

template <class T>
ModelWeights<T> by_role(const std::map<std::string, T*>& at, const ModelConfig& config) {
  ModelWeights<T> w;
  w.embedding = at.at("model.embed_tokens.weight");
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    const auto in_block = [&](const char* name) {
      return at.at(fmt::format("model.layers.{}.{}.weight", i, name));
    };
    w.blocks.push_back({in_block("input_layernorm"), in_block("self_attn.q_proj"),
                        in_block("self_attn.q_norm"), in_block("self_attn.k_norm"),
                        in_block("self_attn.o_proj"), in_block("post_attention_layernorm"),
                        in_block("mlp.gate_proj"), in_block("mlp.down_proj")});
  }
  w.norm = at.at("model.norm.weight");
  w.head = config.tie_word_embeddings ? w.embedding : at.at("lm_head.weight");
  return w;
}

}  // namespace

template <class T>
ModelWeights<T> weight_pointers(const ParameterStore& store, const ModelConfig& config) {
  std::map<std::string, T*> at;
  for (const auto& p : store.parameters()) at[p.name] = store.weights().data_ptr<T>() + p.offset;
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

}  // namespace temper
