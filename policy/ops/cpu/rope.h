#pragma once
// RMSNorm of each query and key head, where the family has one, then rotary positions, in one pass.
// Source: Su et al., "RoFormer" (2021), eq. 34, halves rotated as in Llama; norm before rotation as in Qwen3.

#include <cstdint>
#include <span>
#include <vector>

#include "policy/ops/attention_shape.h"

namespace temper::policy::cpu {

// cos and sin of position · frequencies[i], [positions, hd/2]; see rope_frequencies.
template <class T>
struct RopeTable {
  RopeTable(int64_t positions, std::span<const double> frequencies);
  std::vector<T> cos, sin;
};

template <class T>
struct QkNorm {
  const T* q_weight;  // [hd], as k_weight null where there is no norm
  const T* k_weight;  // [hd]
  double eps;
};

// Without a norm rstd stays as it is.
// Shapes: qkv [rows, (H+2K)·hd] · positions [rows] · qk [rows, (H+K)·hd] · rstd [rows, H+K]
template <class T>
void qk_norm_rope(const AttentionShape& shape, const QkNorm<T>& norm, const RopeTable<T>& table, const T* qkv,
                  const int32_t* positions, int64_t rows, T* qk, T* rstd);

// Writes the query and key columns of d_qkv and, as rms_norm_backward, the norms' dw_blocks
// [⌈rows / kRowBlock⌉, 2·hd], queries first (zeros without a norm); d_qk is overwritten.
template <class T>
void qk_norm_rope_backward(const AttentionShape& shape, const QkNorm<T>& norm, const RopeTable<T>& table,
                           const T* qkv, const int32_t* positions, const T* rstd, int64_t rows, T* d_qk,
                           T* d_qkv, T* dw_blocks);

}  // namespace temper::policy::cpu
