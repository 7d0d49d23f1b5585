#pragma once
// Copies of keys and values for packs whose sequences share their beginnings (policy/ops/shared_keys.h), and the sums of their
// gradients. bf16.
//
// Shapes: rows, copies [C] · begins [T + 1] · keys, d_keys [C, 2·K·hd], keys first · qk [T, (H+K)·hd] · qkv, d_qkv [T, (H+2K)·hd]

#include <cuda_runtime_api.h>

#include <cstdint>

#include "policy/ops/attention_shape.h"

namespace temper::policy::cuda {

// keys[c]: the key in qk and the value in qkv of token rows[c], for C = `count` copies.
void copy_keys(const AttentionShape& shape, const void* qk, const void* qkv, const int32_t* rows,
               int64_t count, void* keys, cudaStream_t stream);

// Writes the gradients of keys and values of T = `tokens` tokens into their columns of d_qkv: each the sum over the token's copies,
// in f32 and in the order of `copies`, rounded once.
void add_key_gradients(const AttentionShape& shape, const void* d_keys, const int32_t* copies,
                       const int32_t* begins, int64_t tokens, void* d_qkv, cudaStream_t stream);

}  // namespace temper::policy::cuda
