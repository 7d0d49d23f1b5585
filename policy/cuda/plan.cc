#include "policy/cuda/plan.h"

#include <algorithm>

#include "base/error.h"
#include "policy/cuda/activations.h"
#include "policy/ops/cuda/layout.h"

namespace temper::policy::cuda {
namespace {

std::string unknown_shape(const ModelConfig& c) {
  struct Rule {
    bool known;
    const char* field;
    int64_t value;
    const char* what;
  };
  const Rule rules[] = {
      {is_attention_head(c.head_dim), "head_dim", c.head_dim,
       "64 or 128, whose attention samples with the bits of training"},
      {c.num_attention_heads <= 8 * c.num_key_value_heads, "num_attention_heads", c.num_attention_heads,
       "at most 8 times num_key_value_heads"},
      {c.hidden_size % 64 == 0 && c.hidden_size <= 8192, "hidden_size", c.hidden_size,
       "a multiple of 64, at most 8192"},
      {c.intermediate_size % 64 == 0, "intermediate_size", c.intermediate_size, "a multiple of 64"},
      {c.vocab_size % 8 == 0, "vocab_size", c.vocab_size, "a multiple of 8"}};
  for (const Rule& rule : rules)
    if (!rule.known) return fmt::format("{} is {}, must be {}", rule.field, rule.value, rule.what);
  return "";
}

// Empty where rows of `tokens` stay within the window, or there is none.
std::string left_window(const ModelConfig& c, int64_t tokens) {
  const bool any = c.windowed.empty() || std::ranges::count(c.windowed, 0) < int64_t(c.windowed.size());
  if (c.sliding_window == 0 || !any || tokens <= c.sliding_window) return "";
  return fmt::format("sliding_window is {}, must be at least the longest row, {} tokens", c.sliding_window,
                     tokens);
}

}  // namespace

std::string unknown_to_gpu(const ModelConfig& c, int64_t longest) {
  const std::string shape = unknown_shape(c);
  return shape.empty() ? left_window(c, longest > 0 ? longest : c.max_position_embeddings) : shape;
}

void refuse_window(const ModelConfig& config, int64_t tokens) {
  if (const std::string problem = left_window(config, tokens); !problem.empty())
    throw ConfigError("model on a GPU: {}", problem);
}

int64_t attention_bytes(const Gpu& gpu) { return gpu.total_bytes / 16; }

int64_t activation_bytes(const ModelConfig& config, int64_t tokens, int64_t scored, int64_t chunk,
                         const KeepByBlock& keep, int64_t copies) {
  Arena arena;
  lay_out_gpu_activations(arena, config, tokens, scored, chunk, keep, copies);
  return arena.used();
}

int64_t offloaded_bytes(const ModelConfig& config, int64_t tokens, const KeepByBlock& keep) {
  Arena arena;
  return policy::offloaded_bytes(lay_out_gpu_activations(arena, config, tokens, 0, 0, keep).blocks);
}

// The words of a step are left out: some bytes a row.
int64_t generation_bytes(const ModelConfig& config, int64_t sequences, int64_t prefill_tokens) {
  const int64_t rows = step_rows(sequences);
  Arena arena;
  lay_out_rows(arena, config, rows);
  lay_out_rows(arena, config, round_up(prefill_tokens, kRowUnit));
  arena.take<at::BFloat16>(2 * rows * config.vocab_size);
  return arena.used();
}

}  // namespace temper::policy::cuda
