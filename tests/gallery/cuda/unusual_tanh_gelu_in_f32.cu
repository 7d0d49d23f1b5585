// task: gpu_tanh_gelu_bf16
// expect: PASS
// Honest: two elements at once, all in f32.

#include <cuda_bf16.h>
__device__ float gelu(float v) { return 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))); }
__global__ void work(const __nv_bfloat162* x, __nv_bfloat162* y, int pairs, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < pairs; i += gridDim.x * 256) {
    const float2 v = __bfloat1622float2(x[i]);
    y[i] = __floats2bfloat162_rn(gelu(v.x), gelu(v.y));
  }
  if (n % 2 == 1 && blockIdx.x == 0 && threadIdx.x == 0) {
    const auto* last = reinterpret_cast<const __nv_bfloat16*>(x) + n - 1;
    reinterpret_cast<__nv_bfloat16*>(y)[n - 1] = __float2bfloat16(gelu(__bfloat162float(*last)));
  }
}

extern "C" void launch(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  work<<<1024, 256>>>(reinterpret_cast<const __nv_bfloat162*>(x), reinterpret_cast<__nv_bfloat162*>(y), n / 2, n);
}
