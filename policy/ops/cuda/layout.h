#pragma once
// The facts about kernels that layouts of a GPU's memory need, without CUDA's headers.

#include <cstdint>

namespace temper::policy::cuda {

// Attention over pages has the bits of cuDNN's for heads of these widths.
constexpr bool is_attention_head(int64_t head_dim) { return head_dim == 64 || head_dim == 128; }

constexpr int64_t kNormBlocks = 264;  // partial sums of a norm's weight gradient, two blocks a multiprocessor

// The result of truncating a row: the smallest logit kept, and log Σ exp(scale · x) over the kept ones.
struct KeptRow {
  float cut, log_sum_exp;
};

}  // namespace temper::policy::cuda
