#include "policy/cuda/decoder.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "policy/cuda/device.h"
#include "policy/cuda/plan.h"
#include "policy/ops/cuda/attention/copied_keys.h"
#include "policy/ops/cuda/bias.h"
#include "policy/ops/cuda/exactness.h"

namespace temper::policy {
namespace {

at::Tensor rope_table(const ModelConfig& config) {
  const at::Tensor table = at::empty({config.max_position_embeddings, config.head_dim}, at::kFloat);
  cuda::fill_rope_table(config.max_position_embeddings, rope_frequencies(config), table.data_ptr<float>());
  return table.to(at::kCUDA);
}

// Rows of equal ids side by side: each id's gradient is then one sum, in the order of the rows.
// Returns how many ids there are.
int64_t fill_rows_by_id(const std::vector<int32_t>& ids, const GpuPack& to) {
  const auto tokens = int64_t(ids.size());
  std::iota(to.order, to.order + tokens, 0);
  std::stable_sort(to.order, to.order + tokens,
                   [&](int32_t a, int32_t b) { return ids[size_t(a)] < ids[size_t(b)]; });
  int64_t count = 0;
  for (int64_t i = 0; i < tokens; ++i) {
    const int32_t id = ids[size_t(to.order[i])];
    if (count > 0 && to.distinct[count - 1] == id) continue;
    to.distinct[count] = id;
    to.begins[count++] = int32_t(i);
  }
  to.begins[count] = int32_t(tokens);
  return count;
}

}  // namespace

CudaDecoder::CudaDecoder(const ModelConfig& config, const PolicyOptions& options)
    : config_(config),
      options_(options),
      token_count_(token_count_of(config, options)),
      shape_{config.num_attention_heads, config.num_key_value_heads, config.head_dim},
      stream_(c10::cuda::getCurrentCUDAStream()),
      attention_(shape_, 0, cuda::attention_bytes(cuda::describe_gpu(c10::cuda::current_device()))),
      rope_table_(rope_table(config)),
      training_(at::kCUDA),
      extending_(at::kCUDA),
      drawing_(at::kCUDA),
      graphs_(config) {}

int64_t CudaDecoder::workspace_bytes() const {
  return training_.bytes() + extending_.bytes() + graphs_.bytes() + attention_.workspace_bytes();
}

std::string CudaDecoder::check_exactness(const ParameterStore& store, bool prefixes) {
  const Weights& w = weights_.of(store, config_);
  const BlockWeights<bf16>& b = w.blocks.front();
  const int64_t d = config_.hidden_size, f = config_.intermediate_size;
  const std::vector<cuda::ProductShape> shapes = {{d, shape_.qkv_width(), false, b.qkv, b.qkv_bias},
                                                  {shape_.q_width(), d, true, b.o, b.o_bias},
                                                  {d, 2 * f, false, b.gate_up, b.gate_up_bias},
                                                  {f, d, true, b.down, b.down_bias},
                                                  {d, config_.vocab_size, false, w.head}};
  const cuda::Exactness found =
      cuda::check_exactness(shape_, shapes, prefixes, products_, attention_, stream_);
  return fmt::format("{}: {}", found.exact ? "exact" : "NOT EXACT", found.text);
}

// Returns how many distinct ids there are, which only a backward asks for.
int64_t CudaDecoder::upload(const PackedTokens& pack, const std::vector<int32_t>& scored,
                            const SharedKeys& shared, const GpuPack& to, bool backward) {
  const auto tokens = int64_t(pack.ids.size()), count = int64_t(scored.size());
  Arena counter;
  lay_out_pack(counter, tokens, count, to.copies);
  std::vector<std::byte> bytes(size_t(counter.used()));
  Arena arena(bytes.data());
  const GpuPack host = lay_out_pack(arena, tokens, count, to.copies);
  std::ranges::copy(pack.ids, host.ids);
  std::ranges::copy(positions_of(pack), host.positions);
  for (int64_t i = 0; i < count; ++i) {
    host.before[i] = scored[size_t(i)] - 1;
    host.targets[i] = pack.ids[size_t(scored[size_t(i)])];
  }
  if (shared.any()) {
    std::ranges::copy(shared.rows, host.key_rows);
    std::ranges::copy(shared.copies, host.key_copies);
    std::ranges::copy(shared.begins, host.copy_begins);
  }
  const int64_t distinct = backward ? fill_rows_by_id(pack.ids, host) : 0;
  staging_.upload(bytes, to.ids, stream_);
  attention_.set_pack(pack.starts, stream_, shared);
  return distinct;
}

void CudaDecoder::copy_shared_keys(const GpuPack& pack, const GpuBlock& b, const GpuScratch& s) {
  if (pack.copies > 0) cuda::copy_keys(shape_, s.qk, b.qkv, pack.key_rows, pack.copies, s.keys, stream_);
}

void CudaDecoder::check_window(const PackedTokens& pack) const {
  for (size_t i = 0; i + 1 < pack.starts.size(); ++i) cuda::refuse_window(config_, pack.length(i));
}

TokenScores CudaDecoder::score(ParameterStore& store, const PackedTokens& pack, const SamplingParams& params,
                               const ScoreGradient* gradient) {
  check_pack(pack, token_count_, config_);
  check_window(pack);
  const int64_t tokens = int64_t(pack.ids.size()), width = config_.hidden_size;
  const std::vector<int32_t> scored = scored_tokens(pack);
  if (scored.empty()) store.pass_without_tokens(gradient != nullptr);
  if (scored.empty()) return {std::vector<double>(pack.ids.size()), std::vector<double>(pack.ids.size())};
  const int64_t blocks = config_.num_hidden_layers;
  const KeepByBlock keep = gradient ? keep_for_backward(options_.memory, blocks) : keep_nothing(blocks);
  const SharedKeys shared = shared_keys(pack.starts, pack.prefixes);
  const auto a = training_.lay_out([&](Arena& arena) {
    return lay_out_gpu_activations(arena, config_, tokens, int64_t(scored.size()),
                                   std::min(int64_t(scored.size()), options_.chunk_rows()), keep,
                                   int64_t(shared.rows.size()));
  });
  const Weights& w = weights_.arriving(store, config_);
  const int64_t distinct = upload(pack, scored, shared, a.pack, gradient != nullptr);

  offloaded_.begin(a.blocks);
  store.wait_for_weights(0, Pass::kForward);
  cuda::embedding(DType::kBF16, w.embedding, a.pack.ids, tokens, width, a.blocks[0].x, stream_);
  for (size_t i = 0; i < a.blocks.size(); ++i) {
    store.wait_for_weights(i + 1, Pass::kForward);
    offloaded_.before_forward(i);
    block_forward(w.blocks[i], tokens, a.pack, a.blocks[i], a.scratch,
                  i + 1 < a.blocks.size() ? a.blocks[i + 1].x : a.x_out);
    offloaded_.after_forward(i);
  }
  store.wait_for_weights(a.blocks.size() + 1, Pass::kForward);
  if (!gradient) return head(w, nullptr, pack, scored, a, params, nullptr);

  const auto g = gradient_pointers<float>(store, config_);
  cuda::check(cudaMemsetAsync(a.scratch.dx, 0, size_t(tokens * width) * sizeof(bf16), stream_), "memset");
  HeadGradients of_head = begin_head(store, g);
  TokenScores scores = head(w, &of_head, pack, scored, a, params, gradient);
  store.finish_unit(a.blocks.size() + 1);
  for (size_t i = a.blocks.size(); i-- > 0;) {
    store.wait_for_weights(i + 1, Pass::kBackward);
    offloaded_.before_backward(i);
    compute_again(keep.of(int64_t(i)), w.blocks[i], tokens, a.pack, a.blocks[i], a.scratch);
    block_backward(w.blocks[i], {g.blocks[i], store.begin_unit(i + 1)}, tokens, a.pack, a.blocks[i],
                   a.scratch);
    offloaded_.after_backward(i);
    store.finish_unit(i + 1);
  }
  store.begin_unit_to_add(0);  // nobody writes the rows of other ids
  cuda::embedding_backward(DType::kBF16, a.scratch.dx, a.pack.order, a.pack.distinct, a.pack.begins, distinct,
                           width, g.embedding, stream_);
  store.finish_unit(0);
  return scores;
}

// x_out null: only what the backward reads.
void CudaDecoder::block_forward(const BlockWeights<bf16>& w, int64_t tokens, const GpuPack& pack,
                                const GpuBlock& b, const GpuScratch& s, bf16* x_out) {
  block(w, {tokens, pack.positions, {}}, block_rows(b, s, x_out), [&] {
    copy_shared_keys(pack, b, s);
    attention_.forward(s.qk, b.qkv, b.mixed, b.lse, stream_, s.keys);
  });
}

// What the backward of a block reads and its forward did not keep.
void CudaDecoder::compute_again(Keep kept, const BlockWeights<bf16>& w, int64_t tokens, const GpuPack& pack,
                                const GpuBlock& b, const GpuScratch& s) {
  if (kept == Keep::kInputs) block_forward(w, tokens, pack, b, s, nullptr);
  if (kept == Keep::kAttention) gate_up(w, tokens, block_rows(b, s, nullptr));
}

// s.dx holds the gradient at the block's output, and then that at its input.
void CudaDecoder::block_backward(const BlockWeights<bf16>& w, const BlockGradients& g, int64_t tokens,
                                 const GpuPack& pack, const GpuBlock& b, const GpuScratch& s) {
  feed_forward_backward(w, g, tokens, b, s);
  attention_backward(w, g, tokens, pack, b, s);
}

void CudaDecoder::feed_forward_backward(const BlockWeights<bf16>& w, const BlockGradients& g, int64_t tokens,
                                        const GpuBlock& b, const GpuScratch& s) {
  const int64_t d = config_.hidden_size, f = config_.intermediate_size, rows = round_up(tokens, kRowUnit);
  products_.linear_backward_input(s.dx, w.down, rows, f, d, s.d_gated, stream_);
  cuda::swiglu_backward(DType::kBF16, s.d_gated, b.gate_up, tokens, f, s.gated, stream_);
  products_.linear_backward_weight(s.dx, s.gated, tokens, f, d, g.add, g.down, stream_);
  bias_backward(s.dx, tokens, d, g.add, g.down_bias, s);
  bias_backward(b.gate_up, tokens, 2 * f, g.add, g.gate_up_bias, s);
  cuda::rms_norm(DType::kBF16, b.middle, nullptr, w.post_norm, config_.rms_norm_eps, tokens, d, s.normed,
                 stream_);
  products_.linear_backward_weight(b.gate_up, s.normed, tokens, d, 2 * f, g.add, g.gate_up, stream_);
  products_.linear_backward_input(b.gate_up, w.gate_up, rows, d, 2 * f, s.d_normed, stream_);
  norm_backward(b.middle, nullptr, w.post_norm, tokens, s.d_normed, g.add, g.post_norm, s);
}

void CudaDecoder::attention_backward(const BlockWeights<bf16>& w, const BlockGradients& g, int64_t tokens,
                                     const GpuPack& pack, const GpuBlock& b, const GpuScratch& s) {
  const int64_t d = config_.hidden_size, hd = config_.head_dim, rows = round_up(tokens, kRowUnit);
  const double eps = config_.rms_norm_eps;
  const float* table = rope_table_.data_ptr<float>();
  products_.linear_backward_input(s.dx, w.o, rows, shape_.q_width(), d, s.d_mixed, stream_);
  products_.linear_backward_weight(s.dx, b.mixed, tokens, shape_.q_width(), d, g.add, g.o, stream_);
  bias_backward(s.dx, tokens, d, g.add, g.o_bias, s);
  cuda::qk_norm_rope(DType::kBF16, shape_, w.q_norm, w.k_norm, eps, table, b.qkv, pack.positions, tokens, {},
                     s.qk, stream_);
  copy_shared_keys(pack, b, s);
  attention_.backward(s.d_mixed, s.qk, b.qkv, b.mixed, b.lse, s.d_qkv, stream_, s.keys, s.d_keys);
  if (pack.copies > 0)
    cuda::add_key_gradients(shape_, s.d_keys, pack.key_copies, pack.copy_begins, tokens, s.d_qkv, stream_);
  cuda::qk_norm_rope_backward(DType::kBF16, shape_, w.q_norm, w.k_norm, eps, table, b.qkv, pack.positions,
                              tokens, s.d_qkv, s.column_blocks, stream_);
  if (g.q_norm) {
    cuda::add_blocks(s.column_blocks, cuda::kNormBlocks, 2 * hd, hd, g.add, g.q_norm, stream_);
    cuda::add_blocks(s.column_blocks + hd, cuda::kNormBlocks, 2 * hd, hd, g.add, g.k_norm, stream_);
  }
  bias_backward(s.d_qkv, tokens, shape_.qkv_width(), g.add, g.qkv_bias, s);
  cuda::rms_norm(DType::kBF16, b.x, nullptr, w.input_norm, eps, tokens, d, s.normed, stream_);
  products_.linear_backward_weight(s.d_qkv, s.normed, tokens, d, shape_.qkv_width(), g.add, g.qkv, stream_);
  products_.linear_backward_input(s.d_qkv, w.qkv, rows, d, shape_.qkv_width(), s.d_normed, stream_);
  norm_backward(b.x, nullptr, w.input_norm, tokens, s.d_normed, g.add, g.input_norm, s);
}

void CudaDecoder::bias_backward(const bf16* dy, int64_t rows, int64_t width, bool add, float* d_bias,
                                const GpuScratch& s) {
  cuda::add_bias_backward(DType::kBF16, dy, rows, width, s.column_blocks, add, d_bias, stream_);
}

// Adds to s.dx, and to the norm's weight or takes its place.
void CudaDecoder::norm_backward(const bf16* x, const int32_t* index, const bf16* w, int64_t rows,
                                const bf16* dy, bool add, float* dw, const GpuScratch& s) {
  const int64_t d = config_.hidden_size;
  cuda::rms_norm_backward(DType::kBF16, dy, x, index, w, config_.rms_norm_eps, rows, d, s.dx, s.column_blocks,
                          stream_);
  cuda::add_blocks(s.column_blocks, cuda::kNormBlocks, d, d, add, dw, stream_);
}

}  // namespace temper::policy
