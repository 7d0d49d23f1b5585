// CudaDecoder's decode steps, which compute one token of each sequence. If the next draws are known, the next step is
// launched before the host has read this one, so that the GPU does not wait for the host.

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "policy/cuda/decoder.h"

namespace temper::policy {
namespace {

// The row of each extension in a step launched before; none if it is not the step that is asked for.
std::vector<int32_t> rows_of(const DecodeStep& step, const GpuCache& cache,
                             std::span<const Extension> extensions, std::span<const Draw> draws) {
  if (step.cache != cache.id()) return {};
  std::map<int64_t, int32_t> row_of_slot;
  for (size_t r = 0; r < step.rows.size(); ++r) row_of_slot[step.rows[r].slot] = int32_t(r);
  std::vector<int32_t> rows;
  for (size_t i = 0; i < extensions.size(); ++i) {
    const Extension& e = extensions[i];
    const auto at = row_of_slot.find(e.slot);
    if (at == row_of_slot.end()) return {};
    const DecodeStep::Row& row = step.rows[size_t(at->second)];
    if (row.position != cache.lengths[size_t(e.slot)] || row.edits != cache.edits(e.slot) ||
        row.id != e.ids[0] || row.draw.u != draws[i].u || row.draw.params != draws[i].params)
      return {};
    rows.push_back(at->second);
  }
  return rows;
}

}  // namespace

// One new token and one draw for each sequence.
bool CudaDecoder::is_step(std::span<const Extension> extensions, std::span<const Draw> draws) const {
  if (extensions.size() != draws.size()) return false;
  for (size_t i = 0; i < draws.size(); ++i)
    if (extensions[i].ids.size() != 1 || draws[i].extension != int64_t(i)) return false;
  return true;
}

// Enqueues the work of a decode step.
void CudaDecoder::enqueue_step(const Weights& w, const GpuCache& cache, const StepBuffers& s, int64_t rows) {
  const int64_t d = config_.hidden_size, v = config_.vocab_size;
  cuda::embedding(DType::kBF16, w.embedding, s.device.ids, rows, d, s.rows.x, stream_);
  for (int64_t i = 0; i < config_.num_hidden_layers; ++i)
    extend_block(w.blocks[size_t(i)], cache.layer(i, s.device.table, nullptr), s.device.positions, rows,
                 false, s.rows);
  cuda::rms_norm(DType::kBF16, s.rows.x, nullptr, w.norm, config_.rms_norm_eps, rows, d, s.rows.normed,
                 stream_);
  products_.linear(s.rows.normed, w.head, nullptr, nullptr, rows, d, v, s.logits, stream_);
  cuda::sample_rows(DType::kBF16, s.logits, v, token_count_, s.device.draws, rows, s.device.ids,
                    s.device.log_probs, stream_);
}

// With `first` the host provides the tokens; otherwise they are those that the previous step drew.
void CudaDecoder::launch(const Weights& w, GpuCache& cache, DecodeStep step, bool first) {
  const auto rows = int64_t(step.rows.size());
  graphs_.use_weights(w.embedding);
  const StepBuffers& s = graphs_.buffers(rows, cache.layout());
  const StepWords& host = s.host[step.place];
  for (int64_t r = 0; r < rows; ++r) {
    const DecodeStep::Row& row = step.rows[size_t(r)];
    int32_t* const pages = host.table + r * cache.max_pages();
    host.ids[r] = std::max(row.id, 0);
    host.positions[r] = int32_t(row.position);
    host.draws[r] = on_device(row.draw, int32_t(r));
    row.slot < 0 ? cache.fill_spare_row(pages) : cache.fill_row(row.slot, pages);
  }
  if (first) cuda::copy_async(s.device.ids, host.ids, rows * 4, cudaMemcpyHostToDevice, stream_);
  cuda::copy_async(s.device.positions, host.positions, host.said_bytes, cudaMemcpyHostToDevice, stream_);
  graphs_.run(rows, stream_, [&] { enqueue_step(w, cache, s, rows); });
  cuda::copy_async(host.ids, s.device.ids, host.heard_bytes, cudaMemcpyDeviceToHost, stream_);
  graphs_.tell(step.place, stream_);
  ahead_ = std::move(step);
}

// Returns the row of each extension.
std::vector<int32_t> CudaDecoder::begin_step(const Weights& w, GpuCache& cache,
                                             std::span<const Extension> extensions,
                                             std::span<const Draw> draws) {
  if (ahead_.cache) graphs_.hear(ahead_.place);  // what it was told must not be overwritten before
  const auto count = int64_t(extensions.size());
  DecodeStep step{
      .cache = cache.id(), .place = 0, .rows = std::vector<DecodeStep::Row>(size_t(step_rows(count)))};
  for (size_t i = 0; i < extensions.size(); ++i) {
    const int64_t slot = extensions[i].slot, position = cache.lengths[size_t(slot)];
    cache.reserve(slot, position + 1);
    step.rows[i] = {slot, position, cache.edits(slot), extensions[i].ids[0], draws[i]};
  }
  launch(w, cache, std::move(step), true);
  std::vector<int32_t> places(extensions.size());
  std::iota(places.begin(), places.end(), 0);
  return places;
}

// Launches the step after `now` for the sequences that may continue; each stays in its row. Launches none if a smaller
// batch would suffice.
void CudaDecoder::begin_next(const Weights& w, GpuCache& cache, const DecodeStep& now,
                             std::span<const int32_t> places, std::span<const Draw> draws) {
  DecodeStep next{
      .cache = cache.id(), .place = 1 - now.place, .rows = std::vector<DecodeStep::Row>(now.rows.size())};
  int64_t count = 0;
  for (size_t i = 0; i < draws.size(); ++i) {
    const DecodeStep::Row& row = now.rows[size_t(places[i])];
    if (draws[i].next_u < 0 || row.position + 2 > cache.max_tokens) continue;
    cache.reserve(row.slot, row.position + 2);
    next.rows[size_t(places[i])] = {
        row.slot, row.position + 1, row.edits, -1, {draws[i].extension, draws[i].params, draws[i].next_u}};
    ++count;
  }
  if (count > 0 && step_rows(count) == int64_t(now.rows.size())) launch(w, cache, std::move(next), false);
}

std::vector<SampledToken> CudaDecoder::step(const Weights& w, GpuCache& cache,
                                            std::span<const Extension> extensions,
                                            std::span<const Draw> draws) {
  std::vector<int32_t> places = rows_of(ahead_, cache, extensions, draws);
  if (places.empty()) places = begin_step(w, cache, extensions, draws);
  const DecodeStep now = std::exchange(ahead_, {});
  begin_next(w, cache, now, places, draws);
  graphs_.hear(now.place);
  for (const Extension& e : extensions) cache.grow(e.slot, cache.lengths[size_t(e.slot)] + 1);

  const StepBuffers& s = graphs_.buffers(int64_t(now.rows.size()), cache.layout());
  const StepWords& heard = s.host[now.place];
  std::vector<SampledToken> tokens;
  for (int32_t row : places) {
    tokens.push_back({heard.ids[row], heard.log_probs[row]});
    if (ahead_.cache) ahead_.rows[size_t(row)].id = heard.ids[row];
  }
  return tokens;
}

}  // namespace temper::policy
