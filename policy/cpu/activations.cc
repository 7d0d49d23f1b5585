#include "policy/cpu/activations.h"

#include "policy/ops/cpu/gemm.h"
#include "policy/ops/cpu/parallel.h"

namespace temper::policy {
namespace {

int64_t blocks_of(int64_t rows) { return (rows + cpu::kRowBlock - 1) / cpu::kRowBlock; }

template <class T>
BlockPanels<T> lay_out_panels(Arena& a, const ModelConfig& c) {
  const int64_t d = c.hidden_size, f = c.intermediate_size, q = c.num_attention_heads * c.head_dim,
                qkv = q + 2 * c.num_key_value_heads * c.head_dim;
  BlockPanels<T> p{};
  p.qkv = a.take<T>(cpu::panels_size<T>(qkv, d));
  p.o = a.take<T>(cpu::panels_size<T>(d, q));
  p.gate_up = a.take<T>(cpu::panels_size<T>(2 * f, d));
  p.down = a.take<T>(cpu::panels_size<T>(d, f));
  return p;
}

// Up to the middle of the block.
template <class T>
void lay_out_attention(Arena& a, const ModelConfig& c, int64_t rows, BlockActivations<T>& b) {
  const int64_t d = c.hidden_size, h = c.num_attention_heads, k = c.num_key_value_heads;
  b.rstd1 = a.take<T>(rows);
  b.normed1 = a.take<T>(rows * d);
  b.qkv = a.take<T>(rows * (h + 2 * k) * c.head_dim);
  b.rstd_qk = a.take<T>(rows * (h + k));
  b.qk = a.take<T>(rows * (h + k) * c.head_dim);
  b.lse = a.take<T>(rows * h);
  b.mixed = a.take<T>(rows * h * c.head_dim);
  b.middle = a.take<T>(rows * d);
}

template <class T>
void lay_out_feed_forward(Arena& a, const ModelConfig& c, int64_t rows, BlockActivations<T>& b) {
  const int64_t d = c.hidden_size, f = c.intermediate_size;
  b.rstd2 = a.take<T>(rows);
  b.normed2 = a.take<T>(rows * d);
  b.gate_up = a.take<T>(rows * 2 * f);
  b.gated = a.take<T>(rows * f);
}

template <class T>
BackwardScratch<T> lay_out_backward(Arena& a, const ModelConfig& c, int64_t rows, int64_t copies) {
  const int64_t d = c.hidden_size, f = c.intermediate_size, h = c.num_attention_heads,
                k = c.num_key_value_heads;
  BackwardScratch<T> s{};
  s.dx_out = a.take<T>(rows * d);
  s.dx_middle = a.take<T>(rows * d);
  s.dx_in = a.take<T>(rows * d);
  s.d_normed = a.take<T>(rows * d);
  s.d_mixed = a.take<T>(rows * h * c.head_dim);
  s.d_qk = a.take<T>(rows * (h + k) * c.head_dim);
  s.d_qkv = a.take<T>(rows * (h + 2 * k) * c.head_dim);
  s.d_keys = a.take<T>(copies * 2 * k * c.head_dim);
  s.d_gated = a.take<T>(rows * f);
  s.d_gate_up = a.take<T>(rows * 2 * f);
  s.input_norm_blocks = a.take<T>(blocks_of(rows) * d);
  s.qk_norm_blocks = a.take<T>(blocks_of(rows) * 2 * c.head_dim);
  s.post_norm_blocks = a.take<T>(blocks_of(rows) * d);
  return s;
}

template <class T>
LmHeadScratch<T> lay_out_lm_head(Arena& a, const ModelConfig& c, int64_t rows, bool backward) {
  LmHeadScratch<T> s{};
  s.x = a.take<T>(rows * c.hidden_size);
  s.rstd = a.take<T>(rows);
  s.normed = a.take<T>(rows * c.hidden_size);
  s.logits = a.take<T>(rows * c.vocab_size);
  if (!backward) return s;
  s.d_normed = a.take<T>(rows * c.hidden_size);
  s.dx = a.take<T>(rows * c.hidden_size);
  s.norm_blocks = a.take<T>(blocks_of(rows) * c.hidden_size);
  return s;
}

}  // namespace

template <class T>
BlockActivations<T> BlockActivations<T>::from_row(const ModelConfig& c, int64_t row) const {
  const int64_t d = c.hidden_size, f = c.intermediate_size, h = c.num_attention_heads,
                k = c.num_key_value_heads;
  BlockActivations b = *this;
  b.x += row * d;
  b.rstd1 += row;
  b.normed1 += row * d;
  b.qkv += row * (h + 2 * k) * c.head_dim;
  b.rstd_qk += row * (h + k);
  b.qk += row * (h + k) * c.head_dim;
  b.lse += row * h;
  b.mixed += row * h * c.head_dim;
  b.middle += row * d;
  b.rstd2 += row;
  b.normed2 += row * d;
  b.gate_up += row * 2 * f;
  b.gated += row * f;
  return b;
}

template <class T>
BackwardScratch<T> BackwardScratch<T>::from_row(const ModelConfig& c, int64_t row) const {
  const int64_t d = c.hidden_size, f = c.intermediate_size, h = c.num_attention_heads,
                k = c.num_key_value_heads, block = row / cpu::kRowBlock;
  BackwardScratch s = *this;
  s.dx_out += row * d;
  s.dx_middle += row * d;
  s.dx_in += row * d;
  s.d_normed += row * d;
  s.d_mixed += row * h * c.head_dim;
  s.d_qk += row * (h + k) * c.head_dim;
  s.d_qkv += row * (h + 2 * k) * c.head_dim;
  s.d_gated += row * f;
  s.d_gate_up += row * 2 * f;
  s.input_norm_blocks += block * d;
  s.qk_norm_blocks += block * 2 * c.head_dim;
  s.post_norm_blocks += block * d;
  return s;
}

template <class T>
Activations<T> lay_out_activations(Arena& arena, const ModelConfig& config, int64_t tokens, int64_t chunk,
                                   const KeepByBlock& keep, int64_t copies) {
  const int64_t rows = tokens, width = rows * config.hidden_size;
  Activations<T> all{};
  all.panels = lay_out_panels<T>(arena, config);
  all.head_panels = arena.take<T>(cpu::panels_size<T>(config.vocab_size, config.hidden_size));
  BlockActivations<T> shared{};
  if (keep.shares(Keep::kAttention)) lay_out_attention(arena, config, rows, shared);
  if (keep.shares(Keep::kAll)) lay_out_feed_forward(arena, config, rows, shared);
  T* ping_pong[2] = {};
  if (!keep.has_backward())
    for (T*& x : ping_pong) x = arena.take<T>(width);
  const auto next_input = [&](int64_t i) {
    return keep.has_backward() ? arena.take<T>(width) : ping_pong[i % 2];
  };
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    BlockActivations<T>& block = all.blocks.emplace_back(shared);
    if (keep.has_own(Keep::kAttention, i)) lay_out_attention(arena, config, rows, block);
    if (keep.has_own(Keep::kAll, i)) lay_out_feed_forward(arena, config, rows, block);
    block.x = next_input(i);
  }
  all.x_out = next_input(config.num_hidden_layers);
  if (keep.has_backward()) all.backward = lay_out_backward<T>(arena, config, rows, copies);
  all.head = lay_out_lm_head<T>(arena, config, chunk, keep.has_backward());
  return all;
}

template struct BlockActivations<float>;
template struct BlockActivations<double>;
template struct BackwardScratch<float>;
template struct BackwardScratch<double>;
template Activations<float> lay_out_activations(Arena&, const ModelConfig&, int64_t, int64_t,
                                                const KeepByBlock&, int64_t);
template Activations<double> lay_out_activations(Arena&, const ModelConfig&, int64_t, int64_t,
                                                 const KeepByBlock&, int64_t);

}  // namespace temper::policy
