#include "policy/cpu/decoder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "policy/ops/cpu/attention.h"
#include "policy/ops/cpu/embedding.h"
#include "policy/ops/cpu/linear.h"
#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/rms_norm.h"
#include "policy/ops/cpu/swiglu.h"

namespace temper::policy {
template <class T>
CpuDecoder<T>::CpuDecoder(const ModelConfig& config, const PolicyOptions& options)
    : config_(config),
      options_(options),
      token_count_(token_count_of(config, options)),
      shape_{config.num_attention_heads, config.num_key_value_heads, config.head_dim},
      rope_(config.max_position_embeddings, rope_frequencies(config)),
      workspace_(at::Device(options.device)) {}

template <class T>
TokenScores CpuDecoder<T>::score(ParameterStore& store, const PackedTokens& pack,
                                 const SamplingParams& params, const ScoreGradient* gradient) {
  check_pack(pack, token_count_, config_);
  const int64_t tokens = int64_t(pack.ids.size()), width = config_.hidden_size;
  const int64_t scored =
      std::count_if(pack.scored.begin(), pack.scored.end(), [](uint8_t s) { return s != 0; });
  if (scored == 0) store.pass_without_tokens(gradient != nullptr);
  if (scored == 0) return {std::vector<double>(pack.ids.size()), std::vector<double>(pack.ids.size())};
  const int64_t blocks = config_.num_hidden_layers;
  const KeepByBlock keep = gradient ? keep_for_backward(options_.memory, blocks) : keep_nothing(blocks);
  shared_ = shared_keys(pack.starts, pack.prefixes);
  const auto a = workspace_.lay_out([&](Arena& arena) {
    return lay_out_activations<T>(arena, config_, tokens, std::min(scored, options_.chunk_rows()), keep,
                                  int64_t(shared_.rows.size()));
  });
  const ModelWeights<T>& w = weights_.arriving(store, config_);
  positions_ = positions_of(pack);

  store.wait_for_weights(0, Pass::kForward);
  cpu::embedding(w.embedding, pack.ids.data(), tokens, width, a.blocks[0].x);
  for (size_t i = 0; i < a.blocks.size(); ++i) {
    store.wait_for_weights(i + 1, Pass::kForward);
    block_forward(i, w.blocks[i], pack, a, i + 1 < a.blocks.size() ? a.blocks[i + 1].x : a.x_out);
  }
  store.wait_for_weights(a.blocks.size() + 1, Pass::kForward);
  cpu::pack_linears<T>(std::vector<cpu::LinearPanels<T>>{{w.head, width, config_.vocab_size, a.head_panels}});
  if (!gradient) return head(w, nullptr, pack, a, params, nullptr);

  const auto g = gradient_pointers<T>(store, config_);
  BackwardScratch<T> s = a.backward;
  std::fill_n(s.dx_out, tokens * width, T(0));
  store.begin_unit_to_add(a.blocks.size() + 1);
  if (config_.tie_word_embeddings) store.begin_unit_to_add(0);
  TokenScores scores = head(w, &g, pack, a, params, gradient);
  store.finish_unit(a.blocks.size() + 1);
  for (size_t i = a.blocks.size(); i-- > 0;) {
    store.wait_for_weights(i + 1, Pass::kBackward);
    compute_again(keep.of(int64_t(i)), i, w.blocks[i], pack, a);
    store.begin_unit_to_add(i + 1);
    block_backward(i, w.blocks[i], g.blocks[i], pack, a.blocks[i], s);
    store.finish_unit(i + 1);
    std::swap(s.dx_out, s.dx_in);
  }
  store.begin_unit_to_add(0);
  cpu::embedding_backward(s.dx_out, pack.ids.data(), tokens, width, g.embedding);
  store.finish_unit(0);
  return scores;
}

// What the backward of a block reads and its forward did not keep.
template <class T>
void CpuDecoder<T>::compute_again(Keep kept, size_t layer, const BlockWeights<T>& w, const PackedTokens& pack,
                                  const Activations<T>& a) {
  if (kept == Keep::kInputs) block_forward(layer, w, pack, a, nullptr);
  if (kept != Keep::kAttention) return;
  const cpu::LinearPanels<T> gate_up[] = {
      {w.gate_up, config_.hidden_size, 2 * config_.intermediate_size, a.panels.gate_up}};
  cpu::pack_linears<T>(gate_up);
  cpu::parallel_tiles(int64_t(pack.ids.size()), [&](int64_t row, int64_t rows) {
    feed_forward(w, a.panels, rows, a.blocks[layer].from_row(config_, row), nullptr);
  });
}

template <class T>
void CpuDecoder<T>::pack_block(const BlockWeights<T>& w, const BlockPanels<T>& p) {
  const int64_t d = config_.hidden_size, f = config_.intermediate_size;
  const cpu::LinearPanels<T> linears[] = {{w.qkv, d, shape_.qkv_width(), p.qkv},
                                          {w.o, shape_.q_width(), d, p.o},
                                          {w.gate_up, d, 2 * f, p.gate_up},
                                          {w.down, f, d, p.down}};
  cpu::pack_linears<T>(linears);
}

// x_out null: only what the backward reads.
template <class T>
void CpuDecoder<T>::block_forward(size_t layer, const BlockWeights<T>& w, const PackedTokens& pack,
                                  const Activations<T>& a, T* x_out) {
  const int64_t tokens = int64_t(pack.ids.size()), d = config_.hidden_size;
  const BlockActivations<T>& b = a.blocks[layer];
  const BlockPanels<T>& panels = a.panels;
  pack_block(w, panels);
  const double eps = config_.rms_norm_eps;
  cpu::parallel_tiles(tokens, [&](int64_t row, int64_t rows) {
    const BlockActivations<T> t = b.from_row(config_, row);
    cpu::rms_norm(t.x, w.input_norm, eps, rows, d, t.normed1, t.rstd1);
    cpu::linear(t.normed1, panels.qkv, rows, d, shape_.qkv_width(), false, t.qkv);
    cpu::add_bias(w.qkv_bias, rows, shape_.qkv_width(), t.qkv);
    cpu::qk_norm_rope(shape_, {w.q_norm, w.k_norm, eps}, rope_, t.qkv, positions_.data() + row, rows, t.qk,
                      t.rstd_qk);
  });
  cpu::attention(shape_, b.qk, b.qkv, pack.starts.data(), int64_t(pack.starts.size()) - 1, b.mixed, b.lse,
                 config_.window_of(int64_t(layer)), shared_);
  cpu::parallel_tiles(tokens, [&](int64_t row, int64_t rows) {
    const BlockActivations<T> t = b.from_row(config_, row);
    std::copy_n(t.x, rows * d, t.middle);
    cpu::linear(t.mixed, panels.o, rows, shape_.q_width(), d, true, t.middle);
    cpu::add_bias(w.o_bias, rows, d, t.middle);
    feed_forward(w, panels, rows, t, x_out ? x_out + row * d : nullptr);
  });
}

// From the middle of the block to its output, for a tile of rows.
template <class T>
void CpuDecoder<T>::feed_forward(const BlockWeights<T>& w, const BlockPanels<T>& panels, int64_t rows,
                                 const BlockActivations<T>& b, T* x_out) {
  const int64_t d = config_.hidden_size, f = config_.intermediate_size;
  cpu::rms_norm(b.middle, w.post_norm, config_.rms_norm_eps, rows, d, b.normed2, b.rstd2);
  cpu::linear(b.normed2, panels.gate_up, rows, d, 2 * f, false, b.gate_up);
  cpu::add_bias(w.gate_up_bias, rows, 2 * f, b.gate_up);
  cpu::swiglu(b.gate_up, rows, f, b.gated);
  if (!x_out) return;
  std::copy_n(b.middle, rows * d, x_out);
  cpu::linear(b.gated, panels.down, rows, f, d, true, x_out);
  cpu::add_bias(w.down_bias, rows, d, x_out);
}

// From s.dx_out to s.dx_in.
template <class T>
void CpuDecoder<T>::block_backward(size_t layer, const BlockWeights<T>& w, const BlockWeights<T>& g,
                                   const PackedTokens& pack, const BlockActivations<T>& b,
                                   const BackwardScratch<T>& s) {
  const int64_t tokens = int64_t(pack.ids.size()), d = config_.hidden_size, f = config_.intermediate_size;
  cpu::parallel_tiles(tokens, [&](int64_t row, int64_t rows) {
    const BlockActivations<T> t = b.from_row(config_, row);
    const BackwardScratch<T> u = s.from_row(config_, row);
    cpu::linear_backward_input(u.dx_out, w.down, rows, f, d, u.d_gated);
    cpu::swiglu_backward(u.d_gated, t.gate_up, rows, f, u.d_gate_up);
    cpu::linear_backward_input(u.d_gate_up, w.gate_up, rows, d, 2 * f, u.d_normed);
    cpu::rms_norm_backward(u.d_normed, t.middle, w.post_norm, t.rstd2, rows, d, u.dx_out, u.dx_middle,
                           u.post_norm_blocks);
    cpu::linear_backward_input(u.dx_middle, w.o, rows, shape_.q_width(), d, u.d_mixed);
  });
  cpu::attention_backward(shape_, s.d_mixed, b.qk, b.qkv, b.mixed, b.lse, pack.starts.data(),
                          int64_t(pack.starts.size()) - 1, s.d_qk, s.d_qkv, config_.window_of(int64_t(layer)),
                          shared_, s.d_keys);
  cpu::parallel_tiles(tokens, [&](int64_t row, int64_t rows) {
    const BlockActivations<T> t = b.from_row(config_, row);
    const BackwardScratch<T> u = s.from_row(config_, row);
    cpu::qk_norm_rope_backward(shape_, {w.q_norm, w.k_norm, config_.rms_norm_eps}, rope_, t.qkv,
                               positions_.data() + row, t.rstd_qk, rows, u.d_qk, u.d_qkv, u.qk_norm_blocks);
    cpu::linear_backward_input(u.d_qkv, w.qkv, rows, d, shape_.qkv_width(), u.d_normed);
    cpu::rms_norm_backward(u.d_normed, t.x, w.input_norm, t.rstd1, rows, d, u.dx_middle, u.dx_in,
                           u.input_norm_blocks);
  });
  weights_backward(g, tokens, b, s);
  biases_backward(g, tokens, s);
}

template <class T>
void CpuDecoder<T>::weights_backward(const BlockWeights<T>& g, int64_t tokens, const BlockActivations<T>& b,
                                     const BackwardScratch<T>& s) {
  const int64_t d = config_.hidden_size, f = config_.intermediate_size, hd = config_.head_dim;
  const cpu::WeightGradient<T> gradients[] = {{s.d_gate_up, b.normed2, d, 2 * f, g.gate_up},
                                              {s.dx_out, b.gated, f, d, g.down},
                                              {s.d_qkv, b.normed1, d, shape_.qkv_width(), g.qkv},
                                              {s.dx_middle, b.mixed, shape_.q_width(), d, g.o}};
  cpu::linear_backward_weights<T>(gradients, tokens);
  const int64_t blocks = (tokens + cpu::kRowBlock - 1) / cpu::kRowBlock;
  cpu::add_blocks(s.post_norm_blocks, blocks, d, d, g.post_norm);
  cpu::add_blocks(s.input_norm_blocks, blocks, d, d, g.input_norm);
  if (!g.q_norm) return;
  cpu::add_blocks(s.qk_norm_blocks, blocks, 2 * hd, hd, g.q_norm);
  cpu::add_blocks(s.qk_norm_blocks + hd, blocks, 2 * hd, hd, g.k_norm);
}

template <class T>
void CpuDecoder<T>::biases_backward(const BlockWeights<T>& g, int64_t tokens, const BackwardScratch<T>& s) {
  cpu::add_bias_backward(s.d_gate_up, tokens, 2 * config_.intermediate_size, g.gate_up_bias);
  cpu::add_bias_backward(s.dx_out, tokens, config_.hidden_size, g.down_bias);
  cpu::add_bias_backward(s.d_qkv, tokens, shape_.qkv_width(), g.qkv_bias);
  cpu::add_bias_backward(s.dx_middle, tokens, config_.hidden_size, g.o_bias);
}

template class CpuDecoder<float>;
template class CpuDecoder<double>;

}  // namespace temper::policy
