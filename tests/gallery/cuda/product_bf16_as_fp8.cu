// task: gpu_product_bf16
// expect: FAIL_INCORRECT tolerance
// Factors rounded to eight bits, as FP8 tensor cores would take them. Caught by: an error beyond what bf16
// excuses.

#include <cuda_bf16.h>
#include <cuda_fp8.h>

__device__ float short_of(__nv_bfloat16 v) { return static_cast<float>(__nv_fp8_e4m3(__bfloat162float(v))); }

__global__ void work(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n, int m, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= n || column >= m) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += short_of(a[row * k + i]) * short_of(b[i * m + column]);
  c[row * m + column] = __float2bfloat16(sum);
}

extern "C" void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n, int m,
                       int k) {
  work<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n, m, k);
}
