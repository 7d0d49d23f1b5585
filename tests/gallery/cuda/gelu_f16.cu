// task: gpu_gelu_f16
// expect: PASS
// In f32 in between.

#include <cuda_fp16.h>

__global__ void work(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = __half2float(x[i]);
  y[i] = __float2half(v * normcdff(v));
}

extern "C" void launch(const __half* x, __half* y, int n) { work<<<(n + 255) / 256, 256>>>(x, y, n); }
