#include "policy/cpu_decoder.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "policy/ops/attention.h"
#include "policy/ops/embedding.h"
#include "policy/ops/head.h"
#include "policy/ops/linear.h"
#include "policy/ops/rms_norm.h"
#include "policy/ops/swiglu.h"

namespace temper {
namespace {

void check_pack(const PackedTokens& pack, const ModelConfig& config) {
  TEMPER_CHECK(pack.starts.size() >= 1 && pack.starts.front() == 0);
  TEMPER_CHECK_EQ(size_t(pack.starts.back()), pack.ids.size());
  TEMPER_CHECK_EQ(pack.scored.size(), pack.ids.size());
  for (size_t s = 0; s + 1 < pack.starts.size(); ++s) {
    const int64_t length = pack.starts[s + 1] - pack.starts[s];
    TEMPER_CHECK(length > 0 && length <= config.max_position_embeddings, "sequence {} has {} tokens", s,
                 length);
    TEMPER_CHECK(!pack.scored[size_t(pack.starts[s])], "sequence {}: its first token is scored", s);
  }
  for (int32_t id : pack.ids) TEMPER_CHECK(id >= 0 && id < config.vocab_size, "id {}", id);
}

std::vector<int32_t> positions_of(const PackedTokens& pack) {
  std::vector<int32_t> positions(pack.ids.size());
  for (size_t s = 0; s + 1 < pack.starts.size(); ++s)
    for (int32_t t = pack.starts[s]; t < pack.starts[s + 1]; ++t) positions[size_t(t)] = t - pack.starts[s];
  return positions;
}

std::vector<int32_t> scored_tokens(const PackedTokens& pack) {
  std::vector<int32_t> scored;
  for (size_t t = 0; t < pack.ids.size(); ++t)
    if (pack.scored[t]) scored.push_back(int32_t(t));
  return scored;
}

}  // namespace

template <class T>
CpuDecoder<T>::CpuDecoder(const ModelConfig& config, const PolicyOptions& options)
    : config_(config),
      options_(options),
      shape_{config.num_attention_heads, config.num_key_value_heads, config.head_dim},
      rope_(config.max_position_embeddings, config.head_dim, config.rope_theta),
      workspace_(at::Device(options.device)) {}

template <class T>
int64_t CpuDecoder<T>::activation_bytes(int64_t tokens, int64_t scored) const {
  Arena arena;
  lay_out_activations<T>(arena, config_, tokens, std::min(scored, options_.logits_chunk),
                         options_.recompute ? Keep::kInputs : Keep::kAll);
  return arena.used();
}

template <class T>
TokenScores CpuDecoder<T>::score(ParameterStore& store, const PackedTokens& pack, double temperature,
                                 const ScoreGradient* gradient) {
  check_pack(pack, config_);
  const int64_t tokens = int64_t(pack.ids.size()), width = config_.hidden_size;
  const int64_t scored =
      std::count_if(pack.scored.begin(), pack.scored.end(), [](uint8_t s) { return s != 0; });
  if (scored == 0) return {std::vector<double>(pack.ids.size()), std::vector<double>(pack.ids.size())};
  const Keep keep = !gradient ? Keep::kNothing : options_.recompute ? Keep::kInputs : Keep::kAll;
  const auto a = workspace_.plan([&](Arena& arena) {
    return lay_out_activations<T>(arena, config_, tokens, std::min(scored, options_.logits_chunk), keep);
  });
  const auto w = weight_pointers<T>(store, config_, store.weights());
  positions_ = positions_of(pack);

  cpu::embedding(w.embedding, pack.ids.data(), tokens, width, a.blocks[0].x);
  for (size_t i = 0; i < a.blocks.size(); ++i) {
    inside_forward(w.blocks[i], pack, a.blocks[i]);
    out_forward(w.blocks[i], tokens, a.blocks[i], i + 1 < a.blocks.size() ? a.blocks[i + 1].x : a.x_out);
  }
  if (!gradient) return head(w, nullptr, pack, a, temperature, nullptr);

  const auto g = weight_pointers<T>(store, config_, store.gradients());
  std::fill_n(a.backward.dx, tokens * width, T(0));
  TokenScores scores = head(w, &g, pack, a, temperature, gradient);
  for (size_t i = a.blocks.size(); i-- > 0;) {
    if (keep == Keep::kInputs) inside_forward(w.blocks[i], pack, a.blocks[i]);
    block_backward(w.blocks[i], g.blocks[i], pack, a.blocks[i], a.backward);
  }
  cpu::embedding_backward(a.backward.dx, pack.ids.data(), tokens, width, g.embedding);
  return scores;
}

template <class T>
void CpuDecoder<T>::inside_forward(const BlockWeights<T>& w, const PackedTokens& pack,
                                   const BlockActivations<T>& b) {
  const int64_t tokens = int64_t(pack.ids.size()), d = config_.hidden_size, f = config_.intermediate_size;
  const double eps = config_.rms_norm_eps;
  cpu::rms_norm(b.x, w.input_norm, eps, tokens, d, b.normed1, b.rstd1);
  cpu::linear(b.normed1, w.qkv, tokens, d, shape_.qkv_width(), false, b.qkv);
  cpu::qk_norm_rope(shape_, {w.q_norm, w.k_norm, eps}, rope_, b.qkv, positions_.data(), tokens, b.qk,
                    b.rstd_qk);
  cpu::attention(shape_, b.qk, b.qkv, pack.starts.data(), int64_t(pack.starts.size()) - 1, b.mixed, b.lse);
  std::copy_n(b.x, tokens * d, b.middle);
  cpu::linear(b.mixed, w.o, tokens, shape_.q_width(), d, true, b.middle);
  cpu::rms_norm(b.middle, w.post_norm, eps, tokens, d, b.normed2, b.rstd2);
  cpu::linear(b.normed2, w.gate_up, tokens, d, 2 * f, false, b.gate_up);
  cpu::swiglu(b.gate_up, tokens, f, b.gated);
}

template <class T>
void CpuDecoder<T>::out_forward(const BlockWeights<T>& w, int64_t tokens, const BlockActivations<T>& b,
                                T* x_out) {
  std::copy_n(b.middle, tokens * config_.hidden_size, x_out);
  cpu::linear(b.gated, w.down, tokens, config_.intermediate_size, config_.hidden_size, true, x_out);
}

// s.dx comes in as the gradient of the block's output and leaves as that of its input.
template <class T>
void CpuDecoder<T>::block_backward(const BlockWeights<T>& w, const BlockWeights<T>& g,
                                   const PackedTokens& pack, const BlockActivations<T>& b,
                                   const BackwardScratch<T>& s) {
  const int64_t tokens = int64_t(pack.ids.size()), d = config_.hidden_size, f = config_.intermediate_size;
  const int64_t q = shape_.q_width(), qkv = shape_.qkv_width();
  cpu::linear_backward_weight(s.dx, b.gated, tokens, f, d, g.down);
  cpu::linear_backward_input(s.dx, w.down, tokens, f, d, s.d_gated);
  cpu::swiglu_backward(s.d_gated, b.gate_up, tokens, f, s.d_gate_up);
  cpu::linear_backward_weight(s.d_gate_up, b.normed2, tokens, d, 2 * f, g.gate_up);
  cpu::linear_backward_input(s.d_gate_up, w.gate_up, tokens, d, 2 * f, s.d_normed);
  cpu::rms_norm_backward(s.d_normed, b.middle, w.post_norm, b.rstd2, tokens, d, s.dx, g.post_norm);

  cpu::linear_backward_weight(s.dx, b.mixed, tokens, q, d, g.o);
  cpu::linear_backward_input(s.dx, w.o, tokens, q, d, s.d_mixed);
  cpu::attention_backward(shape_, s.d_mixed, b.qk, b.qkv, b.mixed, b.lse, pack.starts.data(),
                          int64_t(pack.starts.size()) - 1, s.d_qk, s.d_qkv);
  cpu::qk_norm_rope_backward(shape_, {w.q_norm, w.k_norm, config_.rms_norm_eps}, rope_, b.qkv,
                             positions_.data(), b.rstd_qk, tokens, s.d_qk, s.d_qkv, g.q_norm, g.k_norm);
  cpu::linear_backward_weight(s.d_qkv, b.normed1, tokens, d, qkv, g.qkv);
  cpu::linear_backward_input(s.d_qkv, w.qkv, tokens, d, qkv, s.d_normed);
  cpu::rms_norm_backward(s.d_normed, b.x, w.input_norm, b.rstd1, tokens, d, s.dx, g.input_norm);
}

template <class T>
TokenScores CpuDecoder<T>::head(const ModelWeights<T>& w, const ModelWeights<T>* g, const PackedTokens& pack,
                                const Activations<T>& a, double temperature, const ScoreGradient* gradient) {
  const std::vector<int32_t> scored = scored_tokens(pack);
  TokenScores all{std::vector<double>(pack.ids.size()), std::vector<double>(pack.ids.size())};
  for (size_t begin = 0; begin < scored.size(); begin += size_t(options_.logits_chunk)) {
    const int64_t rows = std::min(int64_t(scored.size() - begin), options_.logits_chunk),
                  d = config_.hidden_size;
    std::vector<int32_t> before, targets;  // the hidden row before a token predicts it
    for (int64_t r = 0; r < rows; ++r) {
      before.push_back(scored[begin + size_t(r)] - 1);
      targets.push_back(pack.ids[size_t(before.back() + 1)]);
    }
    cpu::embedding(a.x_out, before.data(), rows, d, a.head.x);
    cpu::rms_norm(a.head.x, w.norm, config_.rms_norm_eps, rows, d, a.head.normed, a.head.rstd);
    cpu::linear(a.head.normed, w.head, rows, d, config_.vocab_size, false, a.head.logits);
    std::vector<double> log_prob(targets.size()), entropy(targets.size());
    cpu::score_rows(a.head.logits, config_.vocab_size, temperature, targets, log_prob, entropy);
    for (size_t r = 0; r < targets.size(); ++r) {
      all.log_prob[size_t(before[r] + 1)] = log_prob[r];
      all.entropy[size_t(before[r] + 1)] = entropy[r];
    }
    if (!gradient) continue;
    std::vector<double> d_log_prob(targets.size()), d_entropy(targets.size());
    (*gradient)(int64_t(begin), log_prob, entropy, d_log_prob, d_entropy);
    cpu::score_rows_backward(a.head.logits, config_.vocab_size, temperature, targets, log_prob, entropy,
                             d_log_prob, d_entropy);
    head_backward(w, *g, a.head, before, a.backward.dx);
  }
  return all;
}

template <class T>
void CpuDecoder<T>::head_backward(const ModelWeights<T>& w, const ModelWeights<T>& g, const HeadScratch<T>& h,
                                  const std::vector<int32_t>& rows_of, T* dx) {
  const int64_t rows = int64_t(rows_of.size()), d = config_.hidden_size, v = config_.vocab_size;
  cpu::linear_backward_weight(h.logits, h.normed, rows, d, v, g.head);
  cpu::linear_backward_input(h.logits, w.head, rows, d, v, h.d_normed);
  std::fill_n(h.dx, rows * d, T(0));
  cpu::rms_norm_backward(h.d_normed, h.x, w.norm, h.rstd, rows, d, h.dx, g.norm);
  for (int64_t r = 0; r < rows; ++r) std::copy_n(h.dx + r * d, d, dx + rows_of[size_t(r)] * d);
}

template class CpuDecoder<float>;
template class CpuDecoder<double>;

}  // namespace temper
