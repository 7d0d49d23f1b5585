// task: gpu_row_sum
// expect: FAIL_INCORRECT tolerance
// Every second row, and its sum twice: half of the reading. Caught by: every row is compared.

__global__ void work(const float* x, float* y, int n, int m) {
  const int row = 2 * blockIdx.x;
  float sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) sum += x[size_t(row) * m + i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x < 2 && row + threadIdx.x < n) y[row + threadIdx.x] = sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<(n + 1) / 2, 32>>>(x, y, n, m); }
