#pragma once
// Numbers of the dtypes that kernels take, computed with in f32.

#include <cuda_bf16.h>

namespace temper::cuda {

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void from_float(float x, float& y) { y = x; }
__device__ inline void from_float(float x, __nv_bfloat16& y) { y = __float2bfloat16_rn(x); }

}  // namespace temper::cuda
