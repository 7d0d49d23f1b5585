// task: gpu_matvec
// expect: PASS
// A warp per row.

__global__ void work(const float* x, const float* a, float* y, int n, int m) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32;
  if (row >= n) return;
  float sum = 0;
#pragma unroll 4
  for (int j = threadIdx.x % 32; j < m; j += 32) sum += x[size_t(row) * m + j] * a[j];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

extern "C" void launch(const float* x, const float* a, float* y, int n, int m) {
  work<<<(n + 7) / 8, 256>>>(x, a, y, n, m);
}
