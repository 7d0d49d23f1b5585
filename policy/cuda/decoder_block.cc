// CudaDecoder's block: the one sequence of ops that training, prefill and generation run.

#include "policy/cuda/decoder.h"

namespace temper::policy {

void CudaDecoder::block(const BlockWeights<bf16>& w, const BlockTokens& tokens, const BlockRows& r,
                        const std::function<void()>& attend) {
  const int64_t d = config_.hidden_size, f = config_.intermediate_size, count = tokens.count,
                padded = round_up(count, kRowUnit);
  const double eps = config_.rms_norm_eps;
  cuda::rms_norm(DType::kBF16, r.x, nullptr, w.input_norm, eps, count, d, r.normed, stream_);
  products_.linear(r.normed, w.qkv, w.qkv_bias, nullptr, padded, d, shape_.qkv_width(), r.qkv, stream_);
  cuda::qk_norm_rope(DType::kBF16, shape_, w.q_norm, w.k_norm, eps, rope_table_.data_ptr<float>(), r.qkv,
                     tokens.positions, count, tokens.pages, r.qk, stream_);
  attend();
  products_.linear(r.mixed, w.o, w.o_bias, r.x, padded, shape_.q_width(), d, r.middle, stream_);
  gate_up(w, count, r);
  if (!r.x_out) return;
  cuda::swiglu(DType::kBF16, r.gate_up, count, f, r.gated, stream_);
  products_.linear(r.gated, w.down, w.down_bias, r.middle, padded, f, d, r.x_out, stream_);
}

// From the middle of the block to what the feed-forward's backward reads.
void CudaDecoder::gate_up(const BlockWeights<bf16>& w, int64_t count, const BlockRows& r) {
  const int64_t d = config_.hidden_size;
  cuda::rms_norm(DType::kBF16, r.middle, nullptr, w.post_norm, config_.rms_norm_eps, count, d, r.normed,
                 stream_);
  products_.linear(r.normed, w.gate_up, w.gate_up_bias, nullptr, round_up(count, kRowUnit), d,
                   2 * config_.intermediate_size, r.gate_up, stream_);
}

}  // namespace temper::policy
