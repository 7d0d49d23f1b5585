#include "policy/cuda/activations.h"

#include <algorithm>

namespace temper::policy {
namespace {

using bf16 = at::BFloat16;

// Up to the middle of the block.
void lay_out_attention(Arena& a, const ModelConfig& c, int64_t rows, GpuBlock& b) {
  const int64_t h = c.num_attention_heads, k = c.num_key_value_heads;
  b.qkv = a.take<bf16>(rows * (h + 2 * k) * c.head_dim);
  b.lse = a.take<float>(rows * h);
  b.mixed = a.take<bf16>(rows * h * c.head_dim);
  b.middle = a.take<bf16>(rows * c.hidden_size);
}

void lay_out_feed_forward(Arena& a, const ModelConfig& c, int64_t rows, GpuBlock& b) {
  b.gate_up = a.take<bf16>(rows * 2 * c.intermediate_size);
}

// Lays out what a backward reads of a block and a block that keeps only `first` does not have.
GpuBlock lay_out_rest(Arena& a, const ModelConfig& c, int64_t rows, Keep first) {
  GpuBlock b{};
  if (first < Keep::kAttention) lay_out_attention(a, c, rows, b);
  lay_out_feed_forward(a, c, rows, b);
  return b;
}

GpuBlock lay_out_offloaded(Arena& a, const ModelConfig& c, int64_t rows, Keep first) {
  std::byte* const begin = a.take<std::byte>(0);
  const int64_t before = a.used();
  GpuBlock b = lay_out_rest(a, c, rows, first);
  b.offloaded = {begin, size_t(a.used() - before)};
  return b;
}

// The width of the widest vector whose gradient is a sum over rows.
int64_t widest_vector(const ModelConfig& c) {
  const int64_t qkv = (c.num_attention_heads + 2 * c.num_key_value_heads) * c.head_dim;
  return std::max(
      {c.hidden_size, 2 * c.head_dim, c.qkv_bias ? qkv : 0, c.mlp_bias ? 2 * c.intermediate_size : 0});
}

// What a block needs while it computes.
void lay_out_scratch(Arena& a, const ModelConfig& c, int64_t rows, int64_t copies, bool backward,
                     GpuScratch& s) {
  const int64_t d = c.hidden_size, f = c.intermediate_size, h = c.num_attention_heads,
                k = c.num_key_value_heads;
  s.normed = a.take<bf16>(rows * d);
  const auto attention = [&] {
    s.qk = a.take<bf16>(rows * (h + k) * c.head_dim);
    if (copies > 0) s.keys = a.take<bf16>(copies * 2 * k * c.head_dim);
    if (!backward) return;
    s.d_mixed = a.take<bf16>(rows * h * c.head_dim);
    s.d_qkv = a.take<bf16>(rows * (h + 2 * k) * c.head_dim);
    if (copies > 0) s.d_keys = a.take<bf16>(copies * 2 * k * c.head_dim);
  };
  const auto feed_forward = [&] {
    s.gated = a.take<bf16>(rows * f);
    if (backward) s.d_gated = a.take<bf16>(rows * f);
  };
  a.overlay(attention, feed_forward);
  if (backward) s.d_normed = s.normed;
}

// What the blocks' backward and the head's have in common.
void lay_out_stream(Arena& a, const ModelConfig& c, int64_t rows, GpuScratch& s) {
  s.dx = a.take<bf16>(rows * c.hidden_size);
  s.column_blocks = a.take<float>(cuda::kNormBlocks * widest_vector(c));
}

GpuLmHead lay_out_lm_head(Arena& a, const ModelConfig& c, int64_t rows, bool backward) {
  GpuLmHead h{};
  h.normed = a.take<bf16>(rows * c.hidden_size);
  h.logits = a.take<bf16>(rows * c.vocab_size);
  h.scores = a.take<float>(4 * rows);
  h.kept = a.take<cuda::KeptRow>(rows);
  if (backward) h.d_normed = h.normed;
  return h;
}

}  // namespace

GpuPack lay_out_pack(Arena& a, int64_t tokens, int64_t scored, int64_t copies) {
  GpuPack p{};
  p.ids = a.take<int32_t>(tokens);
  p.positions = a.take<int32_t>(tokens);
  p.before = a.take<int32_t>(scored);
  p.targets = a.take<int32_t>(scored);
  p.order = a.take<int32_t>(tokens);
  p.distinct = a.take<int32_t>(tokens);
  p.begins = a.take<int32_t>(tokens + 1);
  p.copies = copies;
  if (copies == 0) return p;
  p.key_rows = a.take<int32_t>(copies);
  p.key_copies = a.take<int32_t>(copies);
  p.copy_begins = a.take<int32_t>(tokens + 1);
  return p;
}

GpuActivations lay_out_gpu_activations(Arena& arena, const ModelConfig& config, int64_t tokens,
                                       int64_t scored, int64_t chunk, const KeepByBlock& keep,
                                       int64_t copies) {
  const int64_t rows = round_up(tokens, kRowUnit), width = rows * config.hidden_size;
  GpuActivations all{};
  all.pack = lay_out_pack(arena, tokens, scored, copies);
  GpuBlock shared{};
  if (keep.shares(Keep::kAll)) shared = lay_out_rest(arena, config, rows, keep.first);
  std::vector<GpuBlock> in_turn;
  for (int64_t i = 0; i < std::min(keep.offloaded, kOffloadMemories); ++i)
    in_turn.push_back(lay_out_offloaded(arena, config, rows, keep.first));
  bf16* ping_pong[2] = {};
  if (!keep.has_backward())
    for (bf16*& x : ping_pong) x = arena.take<bf16>(width);
  const auto next_input = [&](int64_t i) {
    return keep.has_backward() ? arena.take<bf16>(width) : ping_pong[i % 2];
  };
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    GpuBlock& block = all.blocks.emplace_back(
        keep.offloads(i) ? in_turn[size_t(keep.offloaded_before(i) % kOffloadMemories)] : shared);
    if (keep.has_own(Keep::kAttention, i)) lay_out_attention(arena, config, rows, block);
    if (keep.has_own(Keep::kAll, i)) lay_out_feed_forward(arena, config, rows, block);
    block.x = next_input(i);
  }
  all.x_out = next_input(config.num_hidden_layers);
  const bool backward = keep.has_backward();
  if (backward) lay_out_stream(arena, config, rows, all.scratch);
  arena.overlay([&] { lay_out_scratch(arena, config, rows, copies, backward, all.scratch); },
                [&] { all.head = lay_out_lm_head(arena, config, round_up(chunk, kRowUnit), backward); });
  return all;
}

int64_t offloaded_bytes(std::span<const GpuBlock> blocks) {
  int64_t bytes = 0, seen = 0;
  for (size_t block = blocks.size(); block-- > 0;)
    if (!blocks[block].offloaded.empty() && ++seen > kOffloadMemories)
      bytes += int64_t(blocks[block].offloaded.size());
  return bytes;
}

BlockRows lay_out_rows(Arena& a, const ModelConfig& c, int64_t rows) {
  const int64_t d = c.hidden_size, f = c.intermediate_size, h = c.num_attention_heads,
                k = c.num_key_value_heads;
  BlockRows r{};
  r.x = a.take<bf16>(rows * d);
  r.middle = a.take<bf16>(rows * d);
  r.normed = a.take<bf16>(rows * d);
  r.qkv = a.take<bf16>(rows * (h + 2 * k) * c.head_dim);
  r.qk = a.take<bf16>(rows * (h + k) * c.head_dim);
  r.mixed = a.take<bf16>(rows * h * c.head_dim);
  r.gate_up = a.take<bf16>(rows * 2 * f);
  r.gated = a.take<bf16>(rows * f);
  r.x_out = r.x;
  return r;
}

BlockRows block_rows(const GpuBlock& b, const GpuScratch& s, bf16* x_out) {
  return {.x = b.x,
          .middle = b.middle,
          .normed = s.normed,
          .qkv = b.qkv,
          .qk = s.qk,
          .mixed = b.mixed,
          .gate_up = b.gate_up,
          .gated = s.gated,
          .x_out = x_out};
}

int64_t step_rows(int64_t sequences) {
  return round_up(sequences, sequences <= 256 ? kRowUnit : 2 * kRowUnit);
}

}  // namespace temper::policy
