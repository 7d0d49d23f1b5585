// CudaDecoder's generation: prefill and chunked prefill; its steps are in decoder_step.cc.

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "policy/cuda/decoder.h"
#include "policy/ops/cuda/attention/paged_attention.h"

namespace temper::policy {

// One block for new tokens of several sequences. `fresh`: they begin their sequences, which lie packed as
// attention_ knows.
void CudaDecoder::extend_block(const BlockWeights<bf16>& w, const cuda::Pages& pages,
                               const int32_t* positions, int64_t rows, bool fresh, const BlockRows& r) {
  block(w, {rows, positions, pages}, r, [&] {
    if (fresh) {
      attention_.forward(r.qk, r.qkv, r.mixed, nullptr, stream_);
    } else {
      cuda::paged_attention(shape_, r.qk, positions, rows, pages, r.mixed, stream_);
    }
  });
}

// New tokens of some sequences, one after another.
struct CudaDecoder::NewTokens {
  std::vector<int32_t> ids, positions;
  std::vector<int32_t> row;     // row of the page table
  std::vector<int32_t> starts;  // where each sequence's new tokens begin, and the end
  std::vector<int32_t> last;    // the row of each sequence's last token
  std::vector<int32_t> table;   // [sequences, max_pages]

  void add(const Extension& extension, GpuCache& cache);
};

void CudaDecoder::NewTokens::add(const Extension& extension, GpuCache& cache) {
  if (starts.empty()) starts.push_back(0);
  const int64_t held = cache.lengths[size_t(extension.slot)], count = int64_t(extension.ids.size());
  cache.grow(extension.slot, held + count);
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(extension.ids[size_t(i)]);
    positions.push_back(int32_t(held + i));
    row.push_back(int32_t(last.size()));
  }
  table.resize(table.size() + size_t(cache.max_pages()));
  cache.fill_row(extension.slot, table.data() + table.size() - size_t(cache.max_pages()));
  starts.push_back(int32_t(ids.size()));
  last.push_back(int32_t(ids.size()) - 1);
}

struct CudaDecoder::Prefill {
  int32_t *ids, *positions, *row, *last, *table;
  BlockRows rows;
  bf16 *normed, *logits;  // [extensions, D], [extensions, V]

  static Prefill lay_out(Arena& a, const ModelConfig& c, int64_t tokens, int64_t sequences,
                         int64_t max_pages) {
    Prefill p{};
    p.ids = a.take<int32_t>(tokens);
    p.positions = a.take<int32_t>(tokens);
    p.row = a.take<int32_t>(tokens);
    p.last = a.take<int32_t>(sequences);
    p.table = a.take<int32_t>(sequences * max_pages);
    p.rows = lay_out_rows(a, c, round_up(tokens, kRowUnit));
    p.normed = a.take<bf16>(round_up(sequences, kRowUnit) * c.hidden_size);
    p.logits = a.take<bf16>(round_up(sequences, kRowUnit) * c.vocab_size);
    return p;
  }
};

// The normed hidden rows of the sequences' last tokens, to `normed`.
void CudaDecoder::prefill_rows(const Weights& w, const GpuCache& cache, const NewTokens& tokens, bool fresh,
                               const Prefill& p, bf16* normed) {
  const auto rows = int64_t(tokens.ids.size()), sequences = int64_t(tokens.last.size());
  const auto upload_words = [&](int32_t* to, const std::vector<int32_t>& from) {
    cuda::copy_async(to, from.data(), int64_t(from.size()) * 4, cudaMemcpyHostToDevice, stream_);
  };
  upload_words(p.ids, tokens.ids);
  upload_words(p.positions, tokens.positions);
  upload_words(p.row, tokens.row);
  upload_words(p.last, tokens.last);
  upload_words(p.table, tokens.table);
  if (fresh) attention_.set_pack(tokens.starts, stream_);
  cuda::embedding(DType::kBF16, w.embedding, p.ids, rows, config_.hidden_size, p.rows.x, stream_);
  for (int64_t i = 0; i < config_.num_hidden_layers; ++i)
    extend_block(w.blocks[size_t(i)], cache.layer(i, p.table, p.row), p.positions, rows, fresh, p.rows);
  cuda::rms_norm(DType::kBF16, p.rows.x, p.last, w.norm, config_.rms_norm_eps, sequences, config_.hidden_size,
                 normed, stream_);
}

// Sequences that begin go through the packed attention, the others over the pages of what they hold.
CudaDecoder::Logits CudaDecoder::prefill(const Weights& w, GpuCache& cache,
                                         std::span<const Extension> extensions) {
  NewTokens fresh, behind;
  Logits logits;
  for (const Extension& e : extensions)
    if (cache.lengths[size_t(e.slot)] == 0) {
      logits.row.push_back(int32_t(fresh.last.size()));
      fresh.add(e, cache);
    } else {
      logits.row.push_back(-1 - int32_t(behind.last.size()));
      behind.add(e, cache);
    }
  for (int32_t& row : logits.row)
    if (row < 0) row = int32_t(fresh.last.size()) - 1 - row;
  const auto count = int64_t(extensions.size()), d = config_.hidden_size;
  const auto p = extending_.lay_out([&](Arena& arena) {
    return Prefill::lay_out(arena, config_, int64_t(std::max(fresh.ids.size(), behind.ids.size())), count,
                            cache.max_pages());
  });
  if (!fresh.ids.empty()) prefill_rows(w, cache, fresh, true, p, p.normed);
  if (!behind.ids.empty())
    prefill_rows(w, cache, behind, false, p, p.normed + int64_t(fresh.last.size()) * d);
  products_.linear(p.normed, w.head, nullptr, nullptr, round_up(count, kRowUnit), d, config_.vocab_size,
                   p.logits, stream_);
  logits.values = p.logits;
  return logits;
}

std::vector<SampledToken> CudaDecoder::draw(const Logits& logits, std::span<const Draw> draws) {
  const auto count = int64_t(draws.size());
  std::vector<cuda::Draw> words;
  for (const Draw& one : draws) words.push_back(on_device(one, logits.row[size_t(one.extension)]));
  struct Words {
    cuda::Draw* draws;
    int32_t* tokens;
    float* log_probs;
  };
  const auto words_of = [&](Arena& a) {
    return Words{a.take<cuda::Draw>(count), a.take<int32_t>(count), a.take<float>(count)};
  };
  const Words on_gpu = drawing_.lay_out(words_of);
  std::vector<int32_t> tokens(draws.size());
  std::vector<float> log_probs(draws.size());
  cuda::copy_async(on_gpu.draws, words.data(), count * int64_t(sizeof(cuda::Draw)), cudaMemcpyHostToDevice,
                   stream_);
  cuda::sample_rows(DType::kBF16, logits.values, config_.vocab_size, token_count_, on_gpu.draws, count,
                    on_gpu.tokens, on_gpu.log_probs, stream_);
  cuda::copy_async(tokens.data(), on_gpu.tokens, count * 4, cudaMemcpyDeviceToHost, stream_);
  cuda::copy_async(log_probs.data(), on_gpu.log_probs, count * 4, cudaMemcpyDeviceToHost, stream_);
  cuda::check(cudaStreamSynchronize(stream_), "prefill");
  std::vector<SampledToken> sampled;
  for (size_t i = 0; i < draws.size(); ++i) sampled.push_back({tokens[i], log_probs[i]});
  return sampled;
}

std::vector<float> CudaDecoder::logits_on_host(const bf16* logits, int64_t rows) {
  std::vector<bf16> values(size_t(rows * config_.vocab_size));
  cuda::copy_async(values.data(), logits, int64_t(values.size() * sizeof(bf16)), cudaMemcpyDeviceToHost,
                   stream_);
  cuda::check(cudaStreamSynchronize(stream_), "logits");
  return {values.begin(), values.end()};
}

std::vector<SampledToken> CudaDecoder::sample(const ParameterStore& store, CacheStorage& storage,
                                              std::span<const Extension> extensions,
                                              std::span<const Draw> draws) {
  check_extensions(storage, token_count_, config_, extensions);
  auto& cache = static_cast<GpuCache&>(storage);
  const Weights& w = weights_.of(store, config_);
  if (is_step(extensions, draws)) return step(w, cache, extensions, draws);
  return draw(prefill(w, cache, extensions), draws);
}

std::span<const float> CudaDecoder::extend(const ParameterStore& store, CacheStorage& storage,
                                           std::span<const Extension> extensions) {
  check_extensions(storage, token_count_, config_, extensions);
  const Weights& w = weights_.of(store, config_);
  const Logits logits = prefill(w, static_cast<GpuCache&>(storage), extensions);
  const std::vector<float> rows = logits_on_host(logits.values, int64_t(extensions.size()));
  const auto v = size_t(config_.vocab_size);
  logits_.clear();
  for (int32_t row : logits.row)
    logits_.insert(logits_.end(), &rows[size_t(row) * v], &rows[size_t(row) * v] + v);
  return logits_;
}

}  // namespace temper::policy
