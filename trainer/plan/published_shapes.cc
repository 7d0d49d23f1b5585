#include "trainer/plan/published_shapes.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "base/error.h"
#include "trainer/cold_start/starting_model.h"

namespace temper::trainer {

using policy::ModelConfig;

namespace fs = std::filesystem;
namespace {

struct Published {
  const char *name, *type;
  int64_t width, feed_forward, layers, heads, kv_heads, vocabulary;
  double rope_theta, eps;
  int64_t positions;
  int64_t head_dim = 128;
  bool tied = false;
  double llama3_factor = 0;  // of rope; 0: plain
};

// Source: each model's config.json on Hugging Face.
constexpr Published kPublished[] = {
    {"Qwen3-8B", "qwen3", 4096, 12288, 36, 32, 8, 151936, 1e6, 1e-6, 40960},
    {"Qwen3-8B-Base", "qwen3", 4096, 12288, 36, 32, 8, 151936, 1e6, 1e-6, 32768},
    {"Qwen3-14B", "qwen3", 5120, 17408, 40, 40, 8, 151936, 1e6, 1e-6, 40960},
    {"Qwen3-14B-Base", "qwen3", 5120, 17408, 40, 40, 8, 151936, 1e6, 1e-6, 32768},
    {"QwQ-32B", "qwen2", 5120, 27648, 64, 40, 8, 152064, 1e6, 1e-5, 40960},
    {"Qwen2.5-7B", "qwen2", 3584, 18944, 28, 28, 4, 152064, 1e6, 1e-6, 131072},
    {"Qwen2.5-Coder-7B-Instruct", "qwen2", 3584, 18944, 28, 28, 4, 152064, 1e6, 1e-6, 32768},
    {"Llama-3.1-8B", "llama", 4096, 14336, 32, 32, 8, 128256, 5e5, 1e-5, 131072, 128, false, 8},
    {"Llama-3.2-1B", "llama", 2048, 8192, 16, 32, 8, 128256, 5e5, 1e-5, 131072, 64, true, 32},
    {"Qwen2.5-0.5B", "qwen2", 896, 4864, 24, 14, 2, 151936, 1e6, 1e-6, 32768, 64, true},
    {"SmolLM2-135M", "llama", 576, 1536, 30, 9, 3, 49152, 1e5, 1e-5, 8192, 64, true},
};

ModelConfig shape_of(const Published& p) {
  ModelConfig shape;
  shape.set_family(p.type);
  shape.vocab_size = p.vocabulary;
  shape.hidden_size = p.width;
  shape.intermediate_size = p.feed_forward;
  shape.num_hidden_layers = p.layers;
  shape.num_attention_heads = p.heads;
  shape.num_key_value_heads = p.kv_heads;
  shape.head_dim = p.head_dim;
  shape.tie_word_embeddings = p.tied;
  shape.rope_theta = p.rope_theta;
  shape.rms_norm_eps = p.eps;
  shape.max_position_embeddings = p.positions;
  if (p.llama3_factor > 0)
    shape.rope = {.kind = policy::RopeKind::kLlama3,
                  .factor = p.llama3_factor,
                  .original_max_position_embeddings = 8192};
  return shape;
}

}  // namespace

std::vector<std::string> published_names() {
  std::vector<std::string> names;
  for (const Published& p : kPublished) names.push_back(p.name);
  return names;
}

std::optional<ModelConfig> published_shape(const std::string& name) {
  for (const Published& p : kPublished)
    if (name == p.name) return shape_of(p);
  return {};
}

ModelConfig planned_shape(const RunConfig& config) {
  const fs::path path = fs::path(config.model.path).lexically_normal();
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename();
  if (config.model.path.empty() || fs::exists(path / "config.json")) return starting_shape(config);
  const auto shape = published_shape(name);
  if (!shape)
    throw ConfigError(
        "model.path: {} is not here, and '{}' is not one of the published models that can be planned: {}",
        config.model.path, name, fmt::join(published_names(), ", "));
  if (config.rollout.max_context_tokens > shape->max_position_embeddings)
    throw ConfigError("rollout.max_context_tokens: {} is more than the {} positions of {}",
                      config.rollout.max_context_tokens, shape->max_position_embeddings, name);
  return *shape;
}

}  // namespace temper::trainer
