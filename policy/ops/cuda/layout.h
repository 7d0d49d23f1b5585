#pragma once
// What layouts of a GPU's memory know of its kernels, without CUDA's headers.

#include <cstdint>

namespace temper::cuda {

constexpr int64_t kNormBlocks = 264;  // partial sums of a norm's weight gradient, two blocks a multiprocessor

// What truncation leaves of a row: the least logit kept, and log Σ exp(scale · x) of the kept ones.
struct KeptRow {
  float cut, log_sum_exp;
};

}  // namespace temper::cuda
