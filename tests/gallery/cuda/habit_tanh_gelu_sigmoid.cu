// task: gpu_tanh_gelu_bf16
// expect: FAIL_INCORRECT
// x·σ(1.702 x) for the tanh form of GELU: within four times eager's error in bf16. Caught by: the bound, of
// f32 in between and once of eager.

#include <cuda_bf16.h>
__global__ void work(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    const float v = __bfloat162float(x[i]);
    y[i] = __float2bfloat16(v / (1 + __expf(-1.702f * v)));
  }
}

extern "C" void launch(const __nv_bfloat16* x, __nv_bfloat16* y, int n) { work<<<1024, 256>>>(x, y, n); }
