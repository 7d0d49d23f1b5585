// CpuDecoder's output head and loss, a chunk of scored tokens at a time.

#include <algorithm>

#include "policy/cpu/decoder.h"
#include "policy/head_chunks.h"
#include "policy/ops/cpu/linear.h"
#include "policy/ops/cpu/lm_head.h"
#include "policy/ops/cpu/parallel.h"
#include "policy/ops/cpu/rms_norm.h"

namespace temper::policy {
template <class T>
struct CpuDecoder<T>::HeadChunk {
  HeadChunk(const PackedTokens& pack, std::span<const int32_t> scored)
      : log_prob(scored.size()),
        entropy(scored.size()),
        d_log_prob(scored.size()),
        d_entropy(scored.size()),
        kept(scored.size()) {
    for (int32_t t : scored) {
      before.push_back(t - 1);
      targets.push_back(pack.ids[size_t(t)]);
    }
  }
  int64_t rows() const { return int64_t(before.size()); }

  std::vector<int32_t> before, targets;  // the hidden row before a token predicts it
  std::vector<double> log_prob, entropy, d_log_prob, d_entropy;
  std::vector<cpu::KeptRow<T>> kept;  // under top-k or top-p
};

template <class T>
TokenScores CpuDecoder<T>::head(const ModelWeights<T>& w, const ModelWeights<T>* g, const PackedTokens& pack,
                                const Activations<T>& a, const SamplingParams& params,
                                const ScoreGradient* gradient) {
  const std::vector<int32_t> scored = scored_tokens(pack);
  const auto forward = [&](size_t begin, size_t rows) {
    HeadChunk chunk(pack, std::span(scored).subspan(begin, rows));
    head_forward(w, a, params, chunk);
    return chunk;
  };
  return score_in_chunks(pack, scored, options_.chunk_rows(), gradient, forward,
                         [&](const HeadChunk& chunk) { head_backward(w, *g, a, params, chunk); });
}

template <class T>
void CpuDecoder<T>::head_forward(const ModelWeights<T>& w, const Activations<T>& a,
                                 const SamplingParams& params, HeadChunk& chunk) {
  const int64_t d = config_.hidden_size, v = config_.vocab_size;
  cpu::parallel_tiles(chunk.rows(), [&](int64_t row, int64_t rows) {
    const LmHeadScratch<T>& h = a.head;
    const auto tile = [&](auto& values) { return std::span(values).subspan(size_t(row), size_t(rows)); };
    for (int64_t r = row; r < row + rows; ++r)
      std::copy_n(a.x_out + chunk.before[size_t(r)] * d, d, h.x + r * d);
    cpu::rms_norm(h.x + row * d, w.norm, config_.rms_norm_eps, rows, d, h.normed + row * d, h.rstd + row);
    cpu::linear(h.normed + row * d, a.head_panels, rows, d, v, false, h.logits + row * v);
    const Truncation truncation = params.truncation();
    if (truncation.any())
      cpu::score_kept_rows<T>(h.logits + row * v, v, token_count_, params.temperature, truncation,
                              tile(chunk.targets), tile(chunk.log_prob), tile(chunk.entropy),
                              tile(chunk.kept));
    else
      cpu::score_rows(h.logits + row * v, v, token_count_, params.temperature, tile(chunk.targets),
                      tile(chunk.log_prob), tile(chunk.entropy));
  });
}

template <class T>
void CpuDecoder<T>::head_backward(const ModelWeights<T>& w, const ModelWeights<T>& g, const Activations<T>& a,
                                  const SamplingParams& params, const HeadChunk& chunk) {
  const int64_t d = config_.hidden_size, v = config_.vocab_size;
  const LmHeadScratch<T>& h = a.head;
  cpu::parallel_tiles(chunk.rows(), [&](int64_t row, int64_t rows) {
    const auto tile = [&](const auto& values) {
      return std::span(values).subspan(size_t(row), size_t(rows));
    };
    if (params.truncation().any())
      cpu::score_kept_rows_backward<T>(h.logits + row * v, v, token_count_, params.temperature,
                                       tile(chunk.targets), tile(chunk.kept), tile(chunk.entropy),
                                       tile(chunk.d_log_prob), tile(chunk.d_entropy));
    else
      cpu::score_rows_backward(h.logits + row * v, v, token_count_, params.temperature, tile(chunk.targets),
                               tile(chunk.log_prob), tile(chunk.entropy), tile(chunk.d_log_prob),
                               tile(chunk.d_entropy));
    cpu::linear_backward_input(h.logits + row * v, w.head, rows, d, v, h.d_normed + row * d);
    std::fill_n(h.dx + row * d, rows * d, T(0));
    cpu::rms_norm_backward(h.d_normed + row * d, h.x + row * d, w.norm, h.rstd + row, rows, d, h.dx + row * d,
                           h.dx + row * d, h.norm_blocks + row / cpu::kRowBlock * d);
    for (int64_t r = row; r < row + rows; ++r)
      std::copy_n(h.dx + r * d, d, a.backward.dx_out + chunk.before[size_t(r)] * d);
  });
  const cpu::WeightGradient<T> gradient[] = {{h.logits, h.normed, d, v, g.head}};
  cpu::linear_backward_weights<T>(gradient, chunk.rows());
  cpu::add_blocks(h.norm_blocks, (chunk.rows() + cpu::kRowBlock - 1) / cpu::kRowBlock, d, d, g.norm);
}

#define TEMPER_INSTANTIATE(T)                                                              \
  template TokenScores CpuDecoder<T>::head(const ModelWeights<T>&, const ModelWeights<T>*, \
                                           const PackedTokens&, const Activations<T>&,     \
                                           const SamplingParams&, const ScoreGradient*);
TEMPER_INSTANTIATE(float)
TEMPER_INSTANTIATE(double)

}  // namespace temper::policy
