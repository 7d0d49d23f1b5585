#pragma once
// Causal attention over packed sequences, exact (no running maximum), scores in blocks of query rows.
// Source: Vaswani et al. (2017), eq. 1; grouped queries of Ainslie et al. (2023); backward from probabilities
//         rebuilt with the kept log-sum-exp as in Dao et al., "FlashAttention" (2022), algorithm 4.

#include <cstdint>

#include "policy/ops/attention_shape.h"
#include "policy/ops/shared_keys.h"

namespace temper::policy::cpu {

// out = softmax(q·kᵀ / √hd, keys up to the query) · v, within each sequence [starts[s], starts[s+1]). A `window`
// above 0 leaves only the last `window` of those keys, including the query's own.
// Shapes: qk [T, (H+K)·hd], queries first · v: the last K·hd columns of qkv [T, (H+2K)·hd] · out [T, H·hd] ·
// lse [T, H]
// Exact:  where sequences share keys, a query has the bits that it has in a sequence of its own.
template <class T>
void attention(const AttentionShape& shape, const T* qk, const T* qkv, const int32_t* starts,
               int64_t sequences, T* out, T* lse, int64_t window = 0, const SharedKeys& shared = {});

// Writes d_qk and the value columns of d_qkv. Where sequences share keys, d_keys [C, 2·K·hd] is for the gradients of the copies,
// keys first, until they are added.
template <class T>
void attention_backward(const AttentionShape& shape, const T* d_out, const T* qk, const T* qkv, const T* out,
                        const T* lse, const int32_t* starts, int64_t sequences, T* d_qk, T* d_qkv,
                        int64_t window = 0, const SharedKeys& shared = {}, T* d_keys = nullptr);

}  // namespace temper::policy::cpu
