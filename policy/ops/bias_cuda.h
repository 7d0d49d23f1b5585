#pragma once
// Biases of linear layers on a GPU: cpu::add_bias and its backward (policy/ops/linear.h).
//
// A bias is added to the rounded product, in f32, and the sum is rounded again. The same kernel runs behind
// every product while sampling and while training, so a row has the same bits in both. Async, exact, errors:
// as in policy/ops/cuda.h.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "policy/model_config.h"

namespace temper::cuda {

// y [rows, width] += bias [width]; nothing where bias is null.
void add_bias(DType dtype, const void* bias, int64_t rows, int64_t width, void* y, cudaStream_t stream);

// d_bias [width] += Σ of the rows of dy [rows, width], in an order that depends on `rows` alone; nothing
// where d_bias is null. blocks [kNormBlocks, width] is scratch.
void add_bias_backward(DType dtype, const void* dy, int64_t rows, int64_t width, float* blocks, float* d_bias,
                       cudaStream_t stream);

}  // namespace temper::cuda
