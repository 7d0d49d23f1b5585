#pragma once
// The activations that the GPU's forward keeps for its backward, and the scratch memory of both. The backward
// computes norms, rotations and SwiGLU's product again: they run at the speed of memory, and the time is worth less
// than the memory that keeping them would take.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/cpu/activations.h"
#include "policy/model_config.h"
#include "policy/ops/cuda/layout.h"
#include "policy/ops/round_up.h"
#include "policy/parameters/workspace.h"

namespace temper::policy {

// T rows, in whole kRowUnit.
struct GpuBlock {
  at::BFloat16* x;        // [T, D] the block's input
  at::BFloat16* qkv;      // [T, (H+2K)·hd]
  float* lse;             // [T, H]
  at::BFloat16* mixed;    // [T, H·hd] attention's output
  at::BFloat16* middle;   // [T, D] after the attention's residual
  at::BFloat16* gate_up;  // [T, 2F]
  // Where a block that is offloaded has what it moves to the host's memory and back; else empty.
  std::span<std::byte> offloaded;
};

// Blocks that are offloaded take these memories in turn, in their order.
constexpr int64_t kOffloadMemories = 2;

// What attention needs and what the feed-forward needs lie at the same place: a block computes one after the other,
// forward and backward. The output head lies there as well, but for the gradient of the residual stream and the sums over
// rows: no block computes while it does.
struct GpuScratch {
  at::BFloat16* normed;  // [T, D]
  at::BFloat16* qk;      // [T, (H+K)·hd] attention's
  at::BFloat16* gated;   // [T, F] the feed-forward's, as d_gated
  at::BFloat16* keys;    // [C, 2·K·hd] attention's, copies of keys and values where sequences share some
  // The backward's:
  at::BFloat16* dx;        // [T, D] of the residual stream
  at::BFloat16* d_normed;  // [T, D] takes the place of normed, whose last reader is the weight's gradient
  at::BFloat16* d_mixed;   // [T, H·hd]
  at::BFloat16* d_qkv;     // [T, (H+2K)·hd]
  at::BFloat16* d_keys;    // [C, 2·K·hd]
  at::BFloat16* d_gated;   // [T, F]
  // Partial sums over rows, of the gradients of norms' weights and of biases: [kNormBlocks, the widest of
  // them].
  float* column_blocks;
};

// One chunk of scored rows, C = min(scored, logits_chunk).
struct GpuLmHead {
  at::BFloat16* normed;    // [C, D]
  at::BFloat16* logits;    // [C, V], then their gradients
  at::BFloat16* d_normed;  // [C, D] takes the place of normed
  float* scores;           // [4, C] log-prob, entropy, and their gradients
  cuda::KeptRow* kept;     // [C] under top-k or top-p
};

// The pack, as the kernels want it.
struct GpuPack {
  int32_t* ids;        // [T]
  int32_t* positions;  // [T]
  int32_t* before;     // [scored] the row that predicts a scored token
  int32_t* targets;    // [scored]
  int32_t* order;      // [T] rows by id, for the embedding's gradient
  int32_t* distinct;   // [≤ T] ids that occur
  int32_t* begins;     // [≤ T + 1] where each one's rows begin in `order`
  // SharedKeys, if sequences share some.
  int32_t* key_rows;     // [C]
  int32_t* key_copies;   // [C]
  int32_t* copy_begins;  // [T + 1]
  int64_t copies;        // C
};

GpuPack lay_out_pack(Arena& arena, int64_t tokens, int64_t scored, int64_t copies);

struct GpuActivations {
  GpuPack pack;
  std::vector<GpuBlock> blocks;
  at::BFloat16* x_out;  // [T, D] the last block's output
  GpuScratch scratch;
  GpuLmHead head;
};

constexpr int64_t kRowUnit = 32;  // below it products fall off a cliff

GpuActivations lay_out_gpu_activations(Arena& arena, const ModelConfig& config, int64_t tokens,
                                       int64_t scored, int64_t chunk, const KeepByBlock& keep,
                                       int64_t copies = 0);

// Bytes of the host's memory to which these blocks are offloaded. The last kOffloadMemories of them need none: theirs are still
// on the GPU when the backward begins.
int64_t offloaded_bytes(std::span<const GpuBlock> blocks);

// The activations of R rows on their way through one block, whichever buffers they lie in.
struct BlockRows {
  at::BFloat16* x;        // [R, D] the block's input
  at::BFloat16* middle;   // [R, D] x after attention; a sum in place would cost a copy
  at::BFloat16* normed;   // [R, D]
  at::BFloat16* qkv;      // [R, (H+2K)·hd]
  at::BFloat16* qk;       // [R, (H+K)·hd]
  at::BFloat16* mixed;    // [R, H·hd]
  at::BFloat16* gate_up;  // [R, 2F]
  at::BFloat16* gated;    // [R, F]
  at::BFloat16* x_out;    // [R, D] the block's output, which may take x's place; null: not wanted
};

// Buffers for rows that are extended: every block's output takes its input's place.
BlockRows lay_out_rows(Arena& arena, const ModelConfig& config, int64_t rows);

// Those of a pack: what the backward reads lies in `block`, the rest in `scratch`.
BlockRows block_rows(const GpuBlock& block, const GpuScratch& scratch, at::BFloat16* x_out);

// A batch is filled up to one of few sizes, so that few graphs are captured.
int64_t step_rows(int64_t sequences);

}  // namespace temper::policy
