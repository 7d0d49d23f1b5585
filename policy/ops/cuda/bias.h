#pragma once
// The backward of biases of linear layers on a GPU: cpu::add_bias_backward (policy/ops/cpu/linear.h). Forward, a
// bias is part of its product (policy/ops/cuda/products/products.h). Async, exact, errors: as in policy/ops/cuda/ops.h.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "policy/model_config.h"

namespace temper::policy::cuda {

// d_bias [width] += Σ of the rows of dy [rows, width], in an order that depends on `rows` alone; without `add` d_bias
// becomes that. Nothing where d_bias is null. blocks [kNormBlocks, width] is scratch.
void add_bias_backward(DType dtype, const void* dy, int64_t rows, int64_t width, float* blocks, bool add,
                       float* d_bias, cudaStream_t stream);

}  // namespace temper::policy::cuda
