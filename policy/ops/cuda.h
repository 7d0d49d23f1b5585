#pragma once
// The CUDA twins of the ops beside it: raw device pointers and a stream, no torch. Numbers are f32 or bf16 by
// `dtype`, sums f32. Async: each call enqueues on `stream` and returns. Errors: WorldError with CUDA's text
// if the launch fails.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "policy/model_config.h"

namespace temper::cuda {

void check(cudaError_t error, const char* what);

// cpu::rms_norm. Shapes: x, y [rows, width] · w [width] · rstd [rows] f32
void rms_norm(DType dtype, const void* x, const void* w, double eps, int64_t rows, int64_t width, void* y,
              float* rstd, cudaStream_t stream);

// cpu::swiglu. Shapes: gate_up [rows, 2·width], gate first · y [rows, width]
void swiglu(DType dtype, const void* gate_up, int64_t rows, int64_t width, void* y, cudaStream_t stream);

}  // namespace temper::cuda
