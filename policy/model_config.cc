#include "policy/model_config.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace temper::policy {

const char* to_string(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kBF16:
      return "bf16";
  }
  TEMPER_CHECK(false, "dtype {}", int(dtype));
}

const char* to_string(RopeKind kind) {
  switch (kind) {
    case RopeKind::kNone:
      return "default";
    case RopeKind::kLinear:
      return "linear";
    case RopeKind::kLlama3:
      return "llama3";
  }
  TEMPER_CHECK(false, "rope kind {}", int(kind));
}

const std::vector<std::string>& model_families() {
  static const std::vector<std::string> families = {"qwen3", "qwen2", "llama", "mistral"};
  return families;
}

void RopeScaling::visit(OptionVisitor& v) {
  std::string name = to_string(kind);
  v.option(
      "rope_type", name,
      {.help = "scaling of the rotary frequencies; llama3: between wavelengths of 8192/4 and 8192 tokens",
       .choices = {"default", "linear", "llama3"}});
  for (RopeKind known : {RopeKind::kNone, RopeKind::kLinear, RopeKind::kLlama3})
    if (name == to_string(known)) kind = known;
  v.option("rope_factor", factor,
           {.help = "rope_type linear or llama3: factor by which the longest text grows", .min = 1});
}

void ModelConfig::set_family(const std::string& type) {
  model_type = type;
  qk_norm = type == "qwen3";
  qkv_bias = type == "qwen2";
  o_bias = mlp_bias = false;
  rope = {};
  sliding_window = 0;
  windowed.clear();
}

void ModelConfig::visit(OptionVisitor& v) {
  const std::string before = model_type;
  v.option("model_type", model_type,
           {.help = "model family: norms of queries and keys (qwen3), biases of q, k and v (qwen2), neither "
                    "(llama, mistral)",
            .choices = model_families()});
  if (model_type != before) set_family(model_type);
  v.option("vocab_size", vocab_size, {.help = "rows of the embedding", .min = 1, .max = 1 << 24});
  v.option("hidden_size", hidden_size, {.help = "width of the residual stream", .min = 1, .max = 1 << 16});
  v.option("intermediate_size", intermediate_size, {.help = "width inside SwiGLU", .min = 1, .max = 1 << 18});
  v.option("num_hidden_layers", num_hidden_layers, {.help = "decoder blocks", .min = 1, .max = 1024});
  v.option("num_attention_heads", num_attention_heads, {.help = "query heads", .min = 1, .max = 1024});
  v.option("num_key_value_heads", num_key_value_heads,
           {.help = "key and value heads, a divisor of the query heads", .min = 1, .max = 1024});
  v.option("head_dim", head_dim, {.help = "width of a head, even", .min = 2, .max = 1024});
  v.option("tie_word_embeddings", tie_word_embeddings, {.help = "use the embedding as the output head"});
  v.option("rope_theta", rope_theta, {.help = "base of the rotary frequencies", .min = 1});
  v.option("rms_norm_eps", rms_norm_eps, {.help = "epsilon, added to the mean square", .min = 0, .max = 1});
  v.option("max_position_embeddings", max_position_embeddings,
           {.help = "length of the longest sequence", .unit = "tokens", .min = 1, .max = 1 << 22});
  rope.visit(v);
  v.option("sliding_window", sliding_window,
           {.help = "number of keys that a token attends to, including its own; 0 for all earlier "
                    "ones",
            .unit = "tokens",
            .min = 0,
            .max = 1 << 22});
}

void ModelConfig::validate(const std::string& prefix, Problems& problems) const {
  const auto key = [&](const char* name) { return prefix.empty() ? std::string(name) : prefix + "." + name; };
  if (num_key_value_heads < 1 || num_attention_heads % num_key_value_heads != 0)
    problems.add(key("num_key_value_heads"), fmt::format("{} does not divide num_attention_heads = {}",
                                                         num_key_value_heads, num_attention_heads));
  if (head_dim % 2 != 0) problems.add(key("head_dim"), fmt::format("{} is odd: must be even", head_dim));
  // What transformers' Llama cannot be told, an export of it could not say.
  if (model_type == "llama" && sliding_window > 0)
    problems.add(key("sliding_window"), fmt::format("{}: the family llama has none", sliding_window));
  if (model_type == "llama" && hidden_size % num_attention_heads != 0)
    problems.add(key("hidden_size"),
                 fmt::format("{} is not a multiple of num_attention_heads = {}, as llama requires",
                             hidden_size, num_attention_heads));
  if (!windowed.empty() && int64_t(windowed.size()) != num_hidden_layers)
    problems.add(key("layer_types"),
                 fmt::format("names {} layers, num_hidden_layers = {}", windowed.size(), num_hidden_layers));
  if (rope.kind == RopeKind::kLlama3 && !(rope.high_freq_factor > rope.low_freq_factor))
    problems.add(key("rope_parameters"), fmt::format("high_freq_factor {} is not above low_freq_factor {}",
                                                     rope.high_freq_factor, rope.low_freq_factor));
}

int64_t ModelConfig::parameter_count() const {
  const int64_t d = hidden_size, q = num_attention_heads * head_dim, kv = num_key_value_heads * head_dim;
  const int64_t matrices = d * (q + 2 * kv) + q * d + 3 * d * intermediate_size;
  const int64_t norms = 2 * d + (qk_norm ? 2 * head_dim : 0);
  const int64_t biases =
      (qkv_bias ? q + 2 * kv : 0) + (o_bias ? d : 0) + (mlp_bias ? 2 * intermediate_size + d : 0);
  const int64_t block = matrices + norms + biases;
  return (tie_word_embeddings ? 1 : 2) * vocab_size * d + num_hidden_layers * block + d;
}

int64_t ModelConfig::window_of(int64_t layer) const {
  const bool reached = sliding_window < max_position_embeddings;
  return reached && (windowed.empty() || windowed.at(size_t(layer))) ? sliding_window : 0;
}

namespace {

// Wavelengths far beyond the texts of pretraining are stretched, short ones are not, and between the two
// bounds the factor is interpolated.
double llama3_frequency(double frequency, const RopeScaling& rope) {
  const double turns = double(rope.original_max_position_embeddings) * frequency / (2 * std::numbers::pi);
  if (turns > rope.high_freq_factor) return frequency;
  if (turns < rope.low_freq_factor) return frequency / rope.factor;
  const double smooth = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1 - smooth) * frequency / rope.factor + smooth * frequency;
}

}  // namespace

std::vector<double> rope_frequencies(const ModelConfig& c) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < c.head_dim / 2; ++i) {
    const double plain = std::pow(c.rope_theta, -2.0 * double(i) / double(c.head_dim));
    frequencies.push_back(c.rope.kind == RopeKind::kLlama3   ? llama3_frequency(plain, c.rope)
                          : c.rope.kind == RopeKind::kLinear ? plain / c.rope.factor
                                                             : plain);
  }
  return frequencies;
}

}  // namespace temper::policy
