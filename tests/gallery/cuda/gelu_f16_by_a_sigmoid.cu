// task: gpu_gelu_f16
// expect: FAIL_INCORRECT tolerance
// x σ(1.702 x) for the error function. Caught by: an error beyond what f16 excuses.

#include <cuda_fp16.h>

__global__ void work(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = __half2float(x[i]);
  y[i] = __float2half(v / (1 + __expf(-1.702f * v)));
}

extern "C" void launch(const __half* x, __half* y, int n) { work<<<(n + 255) / 256, 256>>>(x, y, n); }
