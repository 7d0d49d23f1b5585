// config.json, written.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "policy/hugging_face/files.h"
#include "policy/hugging_face/keys.h"

namespace temper::policy {
namespace {

using OrderedJson = nlohmann::ordered_json;

// rope_parameters is what transformers 5 reads, rope_theta and rope_scaling what earlier ones read.
void add_rope(const ModelConfig& c, OrderedJson& json) {
  OrderedJson scaling = {{"rope_type", to_string(c.rope.kind)}};
  if (c.rope.kind != RopeKind::kNone) scaling["factor"] = c.rope.factor;
  if (c.rope.kind == RopeKind::kLlama3) {
    scaling["low_freq_factor"] = c.rope.low_freq_factor;
    scaling["high_freq_factor"] = c.rope.high_freq_factor;
    scaling["original_max_position_embeddings"] = c.rope.original_max_position_embeddings;
  }
  json["rope_theta"] = c.rope_theta;
  if (c.rope.kind != RopeKind::kNone) json["rope_scaling"] = scaling;
  scaling["rope_theta"] = c.rope_theta;
  json["rope_parameters"] = scaling;
}

void add_window(const ModelConfig& c, OrderedJson& json) {
  if (c.model_type == "llama") return;
  if (c.model_type != "mistral") json["use_sliding_window"] = c.sliding_window > 0;
  json["sliding_window"] = c.sliding_window > 0 ? OrderedJson(c.sliding_window) : OrderedJson();
  if (c.model_type == "mistral" || c.sliding_window == 0) return;
  std::vector<std::string> types;
  for (int64_t i = 0; i < c.num_hidden_layers; ++i)
    types.push_back(c.windowed.empty() || c.windowed[size_t(i)] ? "sliding_attention" : "full_attention");
  json["max_window_layers"] = std::ranges::find(types, "sliding_attention") - types.begin();
  json["layer_types"] = types;
}

void add_biases(const ModelConfig& c, OrderedJson& json) {
  if (c.model_type == "qwen3" || c.model_type == "llama") json["attention_bias"] = c.qkv_bias;
  if (c.model_type == "llama") json["mlp_bias"] = c.mlp_bias;
}

OrderedJson end_json(const EndTokens& tokens) {
  if (tokens.end.empty()) return OrderedJson();
  return tokens.end.size() == 1 ? OrderedJson(tokens.end[0]) : OrderedJson(tokens.end);
}

OrderedJson model_json(const ModelConfig& c, const std::string& dtype, const EndTokens& end) {
  OrderedJson json = {{"architectures", OrderedJson::array({architecture_of(c.model_type)})},
                      {"model_type", c.model_type},
                      {"vocab_size", c.vocab_size},
                      {"hidden_size", c.hidden_size},
                      {"intermediate_size", c.intermediate_size},
                      {"num_hidden_layers", c.num_hidden_layers},
                      {"num_attention_heads", c.num_attention_heads},
                      {"num_key_value_heads", c.num_key_value_heads},
                      {"head_dim", c.head_dim},
                      {"hidden_act", "silu"},
                      {"attention_dropout", 0.0},
                      {"tie_word_embeddings", c.tie_word_embeddings},
                      {"rms_norm_eps", c.rms_norm_eps},
                      {"max_position_embeddings", c.max_position_embeddings}};
  add_biases(c, json);
  add_rope(c, json);
  add_window(c, json);
  json["use_cache"] = true;
  json["bos_token_id"] = end.begin ? OrderedJson(*end.begin) : OrderedJson();
  json["eos_token_id"] = end_json(end);
  json["pad_token_id"] = end.pad ? OrderedJson(*end.pad) : OrderedJson();
  json["torch_dtype"] = dtype;
  return json;
}

}  // namespace

void write_model_config(const std::filesystem::path& dir, const ModelConfig& config, const std::string& dtype,
                        const EndTokens& end, const std::string& export_dtype) {
  OrderedJson json = model_json(config, dtype, end);
  if (!export_dtype.empty()) json[kExportDtype] = export_dtype;
  write_file_atomic(dir / "config.json", json.dump(2) + "\n");
}

void write_model_config(const std::filesystem::path& dir, const ModelConfig& config, DType dtype,
                        const EndTokens& end) {
  const char* name = dtype == DType::kF64 ? "float64" : dtype == DType::kBF16 ? "bfloat16" : "float32";
  write_model_config(dir, config, name, end);
}

}  // namespace temper::policy
