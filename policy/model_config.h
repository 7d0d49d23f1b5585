#pragma once
// The description of a decoder, with Hugging Face's names where they exist.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/options.h"

namespace temper::policy {

enum class DType : uint8_t { kF32, kF64, kBF16 };
const char* to_string(DType dtype);

// The model_types that Temper knows.
const std::vector<std::string>& model_families();

enum class RopeKind : uint8_t { kNone, kLinear, kLlama3 };
const char* to_string(RopeKind kind);  // default, linear, llama3

// How the rotary frequencies are stretched for texts longer than those of pretraining. kLinear reads `factor`
// alone.
struct RopeScaling {
  RopeKind kind = RopeKind::kNone;
  double factor = 1;
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  int64_t original_max_position_embeddings = 8192;  // tokens

  void visit(OptionVisitor& v);
  bool operator==(const RopeScaling&) const = default;
};

// RMSNorm before attention and before the feed-forward layer, grouped-query attention with RoPE, SwiGLU.
// The families differ in the fields below `max_position_embeddings`.
struct ModelConfig {
  std::string model_type = "qwen3";
  int64_t vocab_size = 1024;
  int64_t hidden_size = 128;        // D
  int64_t intermediate_size = 384;  // F
  int64_t num_hidden_layers = 4;    // L
  int64_t num_attention_heads = 4;  // H
  int64_t num_key_value_heads = 2;  // K
  int64_t head_dim = 32;            // hd; H·hd need not be D
  bool tie_word_embeddings = true;
  double rope_theta = 10000;
  double rms_norm_eps = 1e-6;
  int64_t max_position_embeddings = 1024;
  bool qk_norm = true;    // an RMSNorm per head on queries and keys, before RoPE
  bool qkv_bias = false;  // q_proj, k_proj and v_proj have biases
  bool o_bias = false;    // o_proj has a bias
  bool mlp_bias = false;  // gate_proj, up_proj and down_proj have biases
  RopeScaling rope = {};
  // A token attends to itself and to the `sliding_window` − 1 tokens before it, or to all before it if this is 0.
  int64_t sliding_window = 0;
  std::vector<uint8_t> windowed = {};  // [L] 1 for layers with the window; if empty, all layers have it

  // Takes a family's name and its own choice of norms, biases, rope scaling and window.
  void set_family(const std::string& type);
  void visit(OptionVisitor& v);
  void validate(const std::string& prefix, Problems& problems) const;  // divisibility, even head_dim, …
  int64_t parameter_count() const;
  // 0: full attention, also where no sequence is long enough to leave the window.
  int64_t window_of(int64_t layer) const;

  bool operator==(const ModelConfig&) const = default;
};

// The angle that a position adds to each rotated pair, [hd/2]. Source: Su et al., "RoFormer" (2021), section
// 3.2.2; linear: Chen et al., "Position Interpolation" (2023), eq. 4; llama3: Llama 3.1's model card, as
// transformers computes it.
std::vector<double> rope_frequencies(const ModelConfig& config);

// config.json of a Hugging Face directory. Errors: ConfigError naming file, field, value, what is supported.
ModelConfig read_model_config(const std::filesystem::path& dir);

// Advice to the user if `dir` does not exist and looks like the name of a model on the Hugging Face hub; else "".
std::string hub_advice(const std::filesystem::path& dir);

}  // namespace temper::policy
