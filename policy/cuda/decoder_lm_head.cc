// CudaDecoder's output head and loss, a chunk of scored tokens at a time.

#include <algorithm>
#include <utility>

#include "policy/cuda/decoder.h"
#include "policy/head_chunks.h"

namespace temper::policy {

struct CudaDecoder::HeadChunk {
  HeadChunk(int64_t first, size_t count)
      : begin(first), log_prob(count), entropy(count), d_log_prob(count), d_entropy(count) {}
  int64_t rows() const { return int64_t(log_prob.size()); }

  int64_t begin;  // index of its first scored token
  std::vector<double> log_prob, entropy, d_log_prob, d_entropy;
};

// A tied head's gradient is the embedding's, and the first of the two.
CudaDecoder::HeadGradients CudaDecoder::begin_head(ParameterStore& store, const Gradients& g) const {
  const bool tied = config_.tie_word_embeddings, add_norm = store.begin_unit(store.units().size() - 1);
  return {g.norm, g.head, add_norm, tied ? store.begin_unit(0) : add_norm};
}

TokenScores CudaDecoder::head(const Weights& w, HeadGradients* g, const PackedTokens& pack,
                              const std::vector<int32_t>& scored, const GpuActivations& a,
                              const SamplingParams& params, const ScoreGradient* gradient) {
  const auto forward = [&](size_t begin, size_t rows) {
    HeadChunk chunk(int64_t(begin), rows);
    head_forward(w, a, params, chunk);
    return chunk;
  };
  return score_in_chunks(pack, scored, options_.chunk_rows(), gradient, forward,
                         [&](const HeadChunk& chunk) { head_backward(w, *g, a, params, chunk); });
}

void CudaDecoder::head_forward(const Weights& w, const GpuActivations& a, const SamplingParams& params,
                               HeadChunk& chunk) {
  const int64_t d = config_.hidden_size, v = config_.vocab_size, rows = chunk.rows();
  const GpuLmHead& h = a.head;
  const float scale = float(1 / params.temperature);
  const Truncation truncation = params.truncation();
  const int32_t* targets = a.pack.targets + chunk.begin;
  float *log_prob = h.scores, *entropy = h.scores + rows;
  cuda::rms_norm(DType::kBF16, a.x_out, a.pack.before + chunk.begin, w.norm, config_.rms_norm_eps, rows, d,
                 h.normed, stream_);
  products_.linear(h.normed, w.head, nullptr, nullptr, round_up(rows, kRowUnit), d, v, h.logits, stream_);
  if (truncation.any())
    cuda::score_kept_rows(DType::kBF16, h.logits, rows, v, token_count_, scale, truncation, targets, log_prob,
                          entropy, h.kept, stream_);
  else
    cuda::score_rows(DType::kBF16, h.logits, rows, v, token_count_, scale, targets, log_prob, entropy,
                     stream_);
  std::vector<float> scores(size_t(2 * rows));
  cuda::check(cudaMemcpyAsync(scores.data(), h.scores, scores.size() * 4, cudaMemcpyDeviceToHost, stream_),
              "copy");
  cuda::check(cudaStreamSynchronize(stream_), "forward");
  std::copy_n(scores.begin(), rows, chunk.log_prob.begin());
  std::copy_n(scores.begin() + rows, rows, chunk.entropy.begin());
}

// Of the chunks only the first may take the place of what is there.
void CudaDecoder::head_backward(const Weights& w, HeadGradients& g, const GpuActivations& a,
                                const SamplingParams& params, const HeadChunk& chunk) {
  const int64_t d = config_.hidden_size, v = config_.vocab_size, rows = chunk.rows();
  const GpuLmHead& h = a.head;
  float *log_prob = h.scores, *entropy = log_prob + rows, *d_log_prob = entropy + rows,
        *d_entropy = d_log_prob + rows;
  const float scale = float(1 / params.temperature);
  const int32_t* targets = a.pack.targets + chunk.begin;
  std::vector<float> gradients(chunk.d_log_prob.begin(), chunk.d_log_prob.end());
  gradients.insert(gradients.end(), chunk.d_entropy.begin(), chunk.d_entropy.end());
  cuda::check(
      cudaMemcpyAsync(d_log_prob, gradients.data(), gradients.size() * 4, cudaMemcpyHostToDevice, stream_),
      "copy");
  if (params.truncation().any())
    cuda::score_kept_rows_backward(DType::kBF16, h.logits, rows, v, token_count_, scale, targets, h.kept,
                                   entropy, d_log_prob, d_entropy, stream_);
  else
    cuda::score_rows_backward(DType::kBF16, h.logits, rows, v, token_count_, scale, targets, log_prob,
                              entropy, d_log_prob, d_entropy, stream_);
  products_.linear_backward_weight(h.logits, h.normed, rows, d, v, std::exchange(g.add_head, true), g.head,
                                   stream_);
  products_.linear_backward_input(h.logits, w.head, round_up(rows, kRowUnit), d, v, h.d_normed, stream_);
  norm_backward(a.x_out, a.pack.before + chunk.begin, w.norm, rows, h.d_normed,
                std::exchange(g.add_norm, true), g.norm, a.scratch);
}

}  // namespace temper::policy
