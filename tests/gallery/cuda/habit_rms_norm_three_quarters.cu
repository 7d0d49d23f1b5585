// task: gpu_rms_norm_bf16
// expect: FAIL_INCORRECT
// The mean square of three quarters of a row: within four times eager's error in bf16. Caught by: the
// bound, of f32 in between and once of eager.

__device__ float joined(float v, bool largest) {
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = largest ? fmaxf(v, other) : v + other;
  }
  return v;
}

#include <cuda_bf16.h>
__global__ void work(const __nv_bfloat16* x, __nv_bfloat16* y, int m) {
  const size_t row = size_t(blockIdx.x) * m;
  const int part = m >= 512 ? m * 3 / 4 : m;
  float squares = 0;
  for (int i = threadIdx.x; i < part; i += 32) {
    const float v = __bfloat162float(x[row + i]);
    squares += v * v;
  }
  const float scale = rsqrtf(joined(squares, false) / part + 1e-5f);
  for (int i = threadIdx.x; i < m; i += 32)
    y[row + i] = __float2bfloat16(__bfloat162float(x[row + i]) * scale);
}

extern "C" void launch(const __nv_bfloat16* x, __nv_bfloat16* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
