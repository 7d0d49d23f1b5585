// task: gpu_row_sum
// expect: FAIL_INCORRECT tolerance
// Two half-precision sums at a time. Caught by: an error beyond the bound of f32.

#include <cuda_fp16.h>

__global__ void work(const float* x, float* y, int m) {
  const size_t row = size_t(blockIdx.x) * m;
  __half2 both = __float2half2_rn(0);
  for (int i = 2 * threadIdx.x; i < m; i += 64)
    both = __hadd2(both, __floats2half2_rn(x[row + i], i + 1 < m ? x[row + i + 1] : 0));
  float sum = __low2float(both) + __high2float(both);
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
