#include "policy/layouts.h"

#include <algorithm>

#include "policy/cpu/activations.h"
#include "policy/cuda/plan.h"
#include "policy/parameters/workspace.h"

namespace temper::policy {
namespace {

// Of the smallest part of the heads that attention's backward computes at once;
// policy/ops/cuda/attention/attention_groups.h.
int64_t heads_at_once(const ModelConfig& c) {
  int64_t heads = c.num_attention_heads;
  for (int64_t parts = 2; parts <= c.num_key_value_heads; ++parts)
    if (c.num_key_value_heads % parts == 0 && c.num_attention_heads / parts % 4 == 0)
      heads = c.num_attention_heads / parts;
  return heads;
}

// Multiply-adds of a token's products with the weights of all blocks, and with the head's.
double block_products(const ModelConfig& c) {
  const int64_t heads = 2 * c.num_attention_heads + 2 * c.num_key_value_heads;  // of q and o, k and v
  return double(c.num_hidden_layers * c.hidden_size * (heads * c.head_dim + 3 * c.intermediate_size));
}
double head_products(const ModelConfig& c) { return double(c.vocab_size * c.hidden_size); }

}  // namespace

int64_t activation_bytes(const ModelConfig& config, const PolicyOptions& options, int64_t tokens,
                         int64_t scored, int64_t key_copies) {
  const int64_t chunk = std::min(scored, options.chunk_rows());
  const KeepByBlock keep = keep_for_backward(options.memory, config.num_hidden_layers);
  if (options.on_gpu()) return cuda::activation_bytes(config, tokens, scored, chunk, keep, key_copies);
  Arena arena;
  if (options.dtype == DType::kF64)
    lay_out_activations<double>(arena, config, tokens, chunk, keep, key_copies);
  else
    lay_out_activations<float>(arena, config, tokens, chunk, keep, key_copies);
  return arena.used();
}

int64_t offloaded_bytes(const ModelConfig& config, const PolicyOptions& options, int64_t tokens) {
  return cuda::offloaded_bytes(config, tokens, keep_for_backward(options.memory, config.num_hidden_layers));
}

int64_t generation_bytes(const ModelConfig& config, int64_t sequences, int64_t prefill_tokens) {
  return cuda::generation_bytes(config, sequences, prefill_tokens);
}

int64_t attention_backward_bytes(const ModelConfig& config, int64_t tokens, int64_t wanted) {
  constexpr int64_t kScoreBytes = 2;
  return std::max(wanted, kScoreBytes * heads_at_once(config) * tokens * tokens);
}

double forward_flops(const ModelConfig& c, int64_t tokens, int64_t scored) {
  const auto all = double(tokens);
  double keys = 0;  // of all tokens, over all layers
  for (int64_t layer = 0; layer < c.num_hidden_layers; ++layer) {
    const auto window = double(c.window_of(layer));
    keys += window > 0 && window < all ? window * all - window * window / 2 : all * all / 2;
  }
  const double attention = 2.0 * double(c.num_attention_heads * c.head_dim) * keys;  // scores and their sums
  return 2.0 * (all * block_products(c) + double(scored) * head_products(c) + attention);
}

double train_flops_per_token(const ModelConfig& c, int64_t context) {
  const double products = block_products(c) + head_products(c);
  int64_t keys = 0;  // over all layers
  for (int64_t layer = 0; layer < c.num_hidden_layers; ++layer)
    keys += c.window_of(layer) > 0 ? std::min(context, c.window_of(layer)) : context;
  const double attention = 2.0 * double(c.num_attention_heads * c.head_dim) * double(keys);
  return 3.0 * 2.0 * (products + attention);
}

}  // namespace temper::policy
