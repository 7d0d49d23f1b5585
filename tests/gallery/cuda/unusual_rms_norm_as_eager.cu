// task: gpu_rms_norm_bf16
// expect: PASS
// Honest: rounds to bf16 wherever eager does.

__device__ float joined(float v, bool largest) {
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = largest ? fmaxf(v, other) : v + other;
  }
  return v;
}

#include <cuda_bf16.h>
__device__ float rounded(float v) { return __bfloat162float(__float2bfloat16(v)); }
__global__ void work(const __nv_bfloat16* x, __nv_bfloat16* y, int m) {
  const size_t row = size_t(blockIdx.x) * m;
  float squares = 0;
  for (int i = threadIdx.x; i < m; i += 32) {
    const float v = __bfloat162float(x[row + i]);
    squares += rounded(v * v);
  }
  const float mean = rounded(joined(squares, false) / m), scale = rounded(rsqrtf(rounded(mean + 1e-5f)));
  for (int i = threadIdx.x; i < m; i += 32)
    y[row + i] = __float2bfloat16(__bfloat162float(x[row + i]) * scale);
}

extern "C" void launch(const __nv_bfloat16* x, __nv_bfloat16* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
