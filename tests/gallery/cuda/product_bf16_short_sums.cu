// task: gpu_product_bf16
// expect: FAIL_INCORRECT tolerance
// Sums in bf16.

#include <cuda_bf16.h>

__global__ void work(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n, int m, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= n || column >= m) return;
  __nv_bfloat16 sum = __float2bfloat16(0);
  for (int i = 0; i < k; ++i) sum = __hadd(sum, __hmul(a[row * k + i], b[i * m + column]));
  c[row * m + column] = sum;
}

extern "C" void launch(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n, int m,
                       int k) {
  work<<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n, m, k);
}
