// task: gpu_row_sum
// expect: FAIL_INCORRECT tolerance
// 99 % of the elements, scaled up.

__global__ void work(const float* x, float* y, int m) {
  const int most = m > 100 ? m * 99 / 100 : m;
  float sum = 0;
  for (int i = threadIdx.x; i < most; i += 32) sum += x[size_t(blockIdx.x) * m + i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[blockIdx.x] = sum * m / most;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
