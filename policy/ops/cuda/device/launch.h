#pragma once
// Checks for the host code of kernels. They are compiled separately, so that nvcc need not read the formatting
// library.

#include <cstdint>

#include "policy/model_config.h"

namespace temper::policy::cuda {

// WorldError if the launch just made failed.
void check_launch(const char* op);

// Our own mistakes: f32 and bf16 only; widths are multiples of 8, so that rows begin at multiples of 16
// bytes.
void check_numbers(const char* op, DType dtype, int64_t width, int64_t widest = int64_t(1) << 30);
void check_heads(const char* op, DType dtype, int64_t head_dim, bool pages);

}  // namespace temper::policy::cuda
