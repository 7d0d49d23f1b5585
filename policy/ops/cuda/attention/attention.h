#pragma once
// Causal attention over packed sequences on a GPU, through cuDNN's frontend: bf16, heads of 64
// or 128, grouped queries; the backward deterministic.
//
// Exact:  a row does not depend on how sequences are packed nor on later tokens, and whether its keys are shared; paged_attention
//         has its arithmetic.
// Async:  enqueues on `stream`, which must be the same in all calls: they share a workspace. The first call of
//         a shape bucket builds a plan (up to a second).
// Errors: WorldError with cuDNN's text.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/ops/attention_shape.h"
#include "policy/ops/shared_keys.h"

namespace temper::policy::cuda {

class PackedAttention {
 public:
  // Uses the current device. `scale` multiplies q·k; 0 stands for head_dim^-½. The backward splits a pack into as
  // many calls as keep its workspace near `backward_bytes`, which does not change the bits.
  explicit PackedAttention(const AttentionShape& shape, float scale = 0,
                           int64_t backward_bytes = int64_t(2) << 30);
  ~PackedAttention();

  // The pack that forward and backward speak of from now on: sequence s has rows [starts[s], starts[s+1]).
  // Uploads what cuDNN wants to know of it. `starts` and `shared` are used before the call returns.
  void set_pack(const std::vector<int32_t>& starts, cudaStream_t stream, const SharedKeys& shared = {});

  // Shapes: qk [T, (H+K)·hd], queries first · v: the last K·hd columns of qkv [T, (H+2K)·hd] · out [T, H·hd]
  // · lse [T, H] f32, null: not wanted · keys: what copy_keys made, if the pack shares keys
  void forward(const void* qk, const void* qkv, void* out, float* lse, cudaStream_t stream,
               const void* keys = nullptr);

  // Writes the gradients of queries, keys and values into the columns of d_qkv [T, (H+2K)·hd]. If the pack shares keys, those of
  // the copies go into d_keys [C, 2K·hd] instead, and add_key_gradients adds them up.
  void backward(const void* d_out, const void* qk, const void* qkv, const void* out, const float* lse,
                void* d_qkv, cudaStream_t stream, const void* keys = nullptr, void* d_keys = nullptr);

  // Device memory held: plans' workspaces. It grows with the largest pack seen. The deterministic backward
  // keeps a matrix of scores for each head of a sequence: one key head of 32,768 tokens, 4 query heads on it,
  // takes 8 GiB.
  int64_t workspace_bytes() const;
  static int64_t library_version();  // cudnnGetVersion

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::policy::cuda
