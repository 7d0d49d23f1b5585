#pragma once
// The activations that the forward keeps for the backward, and the scratch memory of both.

#include <vector>

#include "policy/keep.h"
#include "policy/model_config.h"
#include "policy/parameters/workspace.h"

namespace temper::policy {

// wᵀ of each product of a block's forward, by panels (policy/ops/cpu/linear.h); packed in front of it.
template <class T>
struct BlockPanels {
  T *qkv, *o, *gate_up, *down;
};

template <class T>
struct BlockActivations {
  T* x;        // [T, D] the block's input
  T* rstd1;    // [T]
  T* normed1;  // [T, D]
  T* qkv;      // [T, (H+2K)·hd]
  T* rstd_qk;  // [T, H+K]
  T* qk;       // [T, (H+K)·hd] after norm and rope
  T* lse;      // [T, H]
  T* mixed;    // [T, H·hd] attention's output
  T* middle;   // [T, D] after the attention's residual
  T* rstd2;    // [T]
  T* normed2;  // [T, D]
  T* gate_up;  // [T, 2F]
  T* gated;    // [T, F]

  BlockActivations from_row(const ModelConfig& config, int64_t row) const;
};

template <class T>
struct BackwardScratch {
  T* dx_out;     // [T, D] gradient of the residual stream at the block's output, in its middle, at its input
  T* dx_middle;  // [T, D]
  T* dx_in;      // [T, D]
  T* d_normed;   // [T, D]
  T* d_mixed;    // [T, H·hd]
  T* d_qk;       // [T, (H+K)·hd]
  T* d_qkv;      // [T, (H+2K)·hd]
  T* d_keys;     // [C, 2·K·hd] of copies of keys and values, where sequences share some
  T* d_gated;    // [T, F]
  T* d_gate_up;  // [T, 2F]
  // Gradients of the norms' weights, one partial sum for each kRowBlock rows.
  T* input_norm_blocks;  // [⌈T / kRowBlock⌉, D]
  T* qk_norm_blocks;     // [⌈T / kRowBlock⌉, 2·hd]
  T* post_norm_blocks;   // [⌈T / kRowBlock⌉, D]

  BackwardScratch from_row(const ModelConfig& config, int64_t row) const;  // a multiple of kRowBlock
};

// One chunk of scored rows, C = min(scored, logits_chunk).
template <class T>
struct LmHeadScratch {
  T* x;            // [C, D]
  T* rstd;         // [C]
  T* normed;       // [C, D]
  T* logits;       // [C, V], then their gradients
  T* d_normed;     // [C, D]
  T* dx;           // [C, D]
  T* norm_blocks;  // [⌈C / kRowBlock⌉, D]
};

template <class T>
struct Activations {
  BlockPanels<T> panels;  // of the block that computes
  T* head_panels;
  std::vector<BlockActivations<T>> blocks;
  T* x_out;  // [T, D] the last block's output
  BackwardScratch<T> backward;
  LmHeadScratch<T> head;
};

// What a block does not keep lies in memory that such blocks share. `copies`: of keys, C.
template <class T>
Activations<T> lay_out_activations(Arena& arena, const ModelConfig& config, int64_t tokens, int64_t chunk,
                                   const KeepByBlock& keep, int64_t copies = 0);

}  // namespace temper::policy
