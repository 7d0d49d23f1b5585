#pragma once
// The shape of a decoder, under Hugging Face's names.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/options.h"

namespace temper {

enum class DType : uint8_t { kF32, kF64, kBF16 };
const char* to_string(DType dtype);

// Qwen3: RMSNorm, grouped-query attention with an RMSNorm per head on queries and keys before RoPE, SwiGLU.
struct ModelConfig {
  std::string model_type = "qwen3";
  int64_t vocab_size = 1024;
  int64_t hidden_size = 128;         // D
  int64_t intermediate_size = 384;   // F
  int64_t num_hidden_layers = 4;     // L
  int64_t num_attention_heads = 4;   // H
  int64_t num_key_value_heads = 2;   // K
  int64_t head_dim = 32;             // hd; H·hd need not be D
  bool tie_word_embeddings = true;
  double rope_theta = 10000;
  double rms_norm_eps = 1e-6;
  int64_t max_position_embeddings = 1024;

  void visit(OptionVisitor& v);
  void validate(const std::string& prefix, Problems& problems) const;  // divisibility, even head_dim, …
  int64_t parameter_count() const;
};

// config.json of a Hugging Face directory. Errors: ConfigError naming file, field, value, what is supported.
ModelConfig read_model_config(const std::filesystem::path& dir);

}  // namespace temper
