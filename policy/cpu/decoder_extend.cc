// CpuDecoder::extend: prefill, chunked prefill and decode over the cache.

#include <algorithm>

#include "base/error.h"
#include "policy/cpu/cache.h"
#include "policy/cpu/decoder.h"
#include "policy/ops/cpu/embedding.h"
#include "policy/ops/cpu/linear.h"
#include "policy/ops/cpu/rms_norm.h"
#include "policy/ops/cpu/row_linear.h"
#include "policy/ops/cpu/swiglu.h"

namespace temper::policy {
namespace {

constexpr int64_t kExtendRows = 512;  // tokens that go through the blocks at once

}  // namespace

template <class T>
struct CpuDecoder<T>::ExtendScratch {
  T *x, *rstd, *normed, *qkv, *rstd_qk, *qk, *mixed, *gate_up, *gated;  // rows as in BlockActivations
  T *last, *logits;                                                     // [B, D], [B, V]
};

template <class T>
typename CpuDecoder<T>::ExtendScratch CpuDecoder<T>::lay_out_extend(Arena& a, const ModelConfig& c,
                                                                    int64_t rows, int64_t extensions) {
  const int64_t d = c.hidden_size, f = c.intermediate_size, h = c.num_attention_heads,
                k = c.num_key_value_heads;
  const int64_t most = std::max(rows, extensions);
  ExtendScratch s{};
  s.x = a.take<T>(most * d);
  s.rstd = a.take<T>(most);
  s.normed = a.take<T>(most * d);
  s.qkv = a.take<T>(most * (h + 2 * k) * c.head_dim);
  s.rstd_qk = a.take<T>(most * (h + k));
  s.qk = a.take<T>(most * (h + k) * c.head_dim);
  s.mixed = a.take<T>(most * h * c.head_dim);
  s.gate_up = a.take<T>(most * 2 * f);
  s.gated = a.take<T>(most * f);
  s.last = a.take<T>(extensions * d);
  s.logits = a.take<T>(extensions * c.vocab_size);
  return s;
}

template <class T>
void CpuDecoder<T>::extend_linear(const T* x, const T* weight, const T* bias, int64_t rows, int64_t in,
                                  int64_t out, bool accumulate, T* y) {
  cpu::row_linear(x, weight, rows, in, out, accumulate, y);
  cpu::add_bias(bias, rows, out, y);
}

template <class T>
void CpuDecoder<T>::extend_block(int64_t layer, const BlockWeights<T>& w, const cpu::CacheLayer<T>& cache,
                                 const NewTokens& tokens, int64_t begin, int64_t rows,
                                 const ExtendScratch& s) {
  const int64_t d = config_.hidden_size, f = config_.intermediate_size;
  const int32_t *slots = tokens.slots.data() + begin, *positions = tokens.positions.data() + begin;
  const double eps = config_.rms_norm_eps;
  cpu::rms_norm(s.x, w.input_norm, eps, rows, d, s.normed, s.rstd);
  extend_linear(s.normed, w.qkv, w.qkv_bias, rows, d, shape_.qkv_width(), false, s.qkv);
  cpu::qk_norm_rope(shape_, {w.q_norm, w.k_norm, eps}, rope_, s.qkv, positions, rows, s.qk, s.rstd_qk);
  cpu::cache_append(shape_, s.qk, s.qkv, slots, positions, rows, cache);
  cpu::cached_attention(shape_, s.qk, slots, positions, rows, cache, s.mixed, config_.window_of(layer));
  extend_linear(s.mixed, w.o, w.o_bias, rows, shape_.q_width(), d, true, s.x);
  cpu::rms_norm(s.x, w.post_norm, eps, rows, d, s.normed, s.rstd);
  extend_linear(s.normed, w.gate_up, w.gate_up_bias, rows, d, 2 * f, false, s.gate_up);
  cpu::swiglu(s.gate_up, rows, f, s.gated);
  extend_linear(s.gated, w.down, w.down_bias, rows, f, d, true, s.x);
}

template <class T>
std::span<const float> CpuDecoder<T>::extend(const ParameterStore& store, CacheStorage& storage,
                                             std::span<const Extension> extensions) {
  check_extensions(storage, token_count_, config_, extensions);
  auto& cache = static_cast<CpuCache&>(storage);
  NewTokens tokens;
  for (const Extension& e : extensions) {
    for (int32_t id : e.ids) {
      tokens.ids.push_back(id);
      tokens.slots.push_back(int32_t(e.slot));
      tokens.positions.push_back(int32_t(cache.lengths[size_t(e.slot)]++));
    }
    tokens.last.push_back(int64_t(tokens.ids.size()) - 1);
  }
  const int64_t total = int64_t(tokens.ids.size()), count = int64_t(extensions.size()),
                d = config_.hidden_size;
  const ModelWeights<T>& w = weights_.of(store, config_);
  const auto s = workspace_.lay_out(
      [&](Arena& arena) { return lay_out_extend(arena, config_, std::min(total, kExtendRows), count); });
  size_t done = 0;
  for (int64_t begin = 0; begin < total; begin += kExtendRows) {
    const int64_t rows = std::min(kExtendRows, total - begin);
    cpu::embedding(w.embedding, tokens.ids.data() + begin, rows, d, s.x);
    for (int64_t i = 0; i < config_.num_hidden_layers; ++i)
      extend_block(i, w.blocks[size_t(i)], cache.layer<T>(i), tokens, begin, rows, s);
    for (; done < tokens.last.size() && tokens.last[done] < begin + rows; ++done)
      std::copy_n(s.x + (tokens.last[done] - begin) * d, d, s.last + int64_t(done) * d);
  }
  cpu::rms_norm(s.last, w.norm, config_.rms_norm_eps, count, d, s.normed, s.rstd);
  cpu::row_linear(s.normed, w.head, count, d, config_.vocab_size, false, s.logits);
  const int64_t size = count * config_.vocab_size;
  if constexpr (std::is_same_v<T, float>) return {s.logits, size_t(size)};
  logits_.assign(s.logits, s.logits + size);
  return logits_;
}

template <class T>
std::vector<SampledToken> CpuDecoder<T>::sample(const ParameterStore& store, CacheStorage& cache,
                                                std::span<const Extension> extensions,
                                                std::span<const Draw> draws) {
  const std::span<const float> logits = extend(store, cache, extensions);
  const auto vocab = size_t(config_.vocab_size);
  std::vector<SampledToken> tokens;
  for (const Draw& draw : draws)
    tokens.push_back(sample_token(logits.subspan(size_t(draw.extension) * vocab, size_t(token_count_)),
                                  draw.params, draw.u));
  return tokens;
}

template std::span<const float> CpuDecoder<float>::extend(const ParameterStore&, CacheStorage&,
                                                          std::span<const Extension>);
template std::span<const float> CpuDecoder<double>::extend(const ParameterStore&, CacheStorage&,
                                                           std::span<const Extension>);
template std::vector<SampledToken> CpuDecoder<float>::sample(const ParameterStore&, CacheStorage&,
                                                             std::span<const Extension>,
                                                             std::span<const Draw>);
template std::vector<SampledToken> CpuDecoder<double>::sample(const ParameterStore&, CacheStorage&,
                                                              std::span<const Extension>,
                                                              std::span<const Draw>);

}  // namespace temper::policy
