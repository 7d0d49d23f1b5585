#include "policy/activations.h"

namespace temper {
namespace {

template <class T>
BlockActivations<T> lay_out_inside(Arena& a, const ModelConfig& c, int64_t rows) {
  const int64_t d = c.hidden_size, f = c.intermediate_size, h = c.num_attention_heads,
                k = c.num_key_value_heads;
  BlockActivations<T> b{};
  b.rstd1 = a.take<T>(rows);
  b.normed1 = a.take<T>(rows * d);
  b.qkv = a.take<T>(rows * (h + 2 * k) * c.head_dim);
  b.rstd_qk = a.take<T>(rows * (h + k));
  b.qk = a.take<T>(rows * (h + k) * c.head_dim);
  b.lse = a.take<T>(rows * h);
  b.mixed = a.take<T>(rows * h * c.head_dim);
  b.middle = a.take<T>(rows * d);
  b.rstd2 = a.take<T>(rows);
  b.normed2 = a.take<T>(rows * d);
  b.gate_up = a.take<T>(rows * 2 * f);
  b.gated = a.take<T>(rows * f);
  return b;
}

template <class T>
BackwardScratch<T> lay_out_backward(Arena& a, const ModelConfig& c, int64_t rows) {
  const int64_t d = c.hidden_size, f = c.intermediate_size, h = c.num_attention_heads,
                k = c.num_key_value_heads;
  BackwardScratch<T> s{};
  s.dx = a.take<T>(rows * d);
  s.d_normed = a.take<T>(rows * d);
  s.d_mixed = a.take<T>(rows * h * c.head_dim);
  s.d_qk = a.take<T>(rows * (h + k) * c.head_dim);
  s.d_qkv = a.take<T>(rows * (h + 2 * k) * c.head_dim);
  s.d_gated = a.take<T>(rows * f);
  s.d_gate_up = a.take<T>(rows * 2 * f);
  return s;
}

template <class T>
HeadScratch<T> lay_out_head(Arena& a, const ModelConfig& c, int64_t rows, bool backward) {
  HeadScratch<T> s{};
  s.x = a.take<T>(rows * c.hidden_size);
  s.rstd = a.take<T>(rows);
  s.normed = a.take<T>(rows * c.hidden_size);
  s.logits = a.take<T>(rows * c.vocab_size);
  if (!backward) return s;
  s.d_normed = a.take<T>(rows * c.hidden_size);
  s.dx = a.take<T>(rows * c.hidden_size);
  return s;
}

}  // namespace

template <class T>
Activations<T> lay_out_activations(Arena& arena, const ModelConfig& config, int64_t tokens, int64_t chunk,
                                   Keep keep) {
  const int64_t rows = tokens, width = rows * config.hidden_size;
  Activations<T> all{};
  const auto shared = keep == Keep::kAll ? BlockActivations<T>{} : lay_out_inside<T>(arena, config, rows);
  T* ping_pong[2] = {};
  if (keep == Keep::kNothing)
    for (T*& x : ping_pong) x = arena.take<T>(width);
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    auto block = keep == Keep::kAll ? lay_out_inside<T>(arena, config, rows) : shared;
    block.x = keep == Keep::kNothing ? ping_pong[i % 2] : arena.take<T>(width);
    all.blocks.push_back(block);
  }
  all.x_out = keep == Keep::kNothing ? ping_pong[config.num_hidden_layers % 2] : arena.take<T>(width);
  if (keep != Keep::kNothing) all.backward = lay_out_backward<T>(arena, config, rows);
  all.head = lay_out_head<T>(arena, config, chunk, keep != Keep::kNothing);
  return all;
}

template Activations<float> lay_out_activations(Arena&, const ModelConfig&, int64_t, int64_t, Keep);
template Activations<double> lay_out_activations(Arena&, const ModelConfig&, int64_t, int64_t, Keep);

}  // namespace temper
