// task: gpu_cumsum
// expect: PASS
// A warp per row, 32 numbers at a time.

__global__ void work(const float* x, float* y, int n, int m) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  float before = 0;
  for (int start = 0; start < m; start += 32) {
    const int j = start + lane;
    float sum = j < m ? x[size_t(row) * m + j] : 0;
    for (int step = 1; step < 32; step *= 2) {
      const float other = __shfl_up_sync(0xffffffff, sum, step);
      if (lane >= step) sum += other;
    }
    if (j < m) y[size_t(row) * m + j] = before + sum;
    before += __shfl_sync(0xffffffff, sum, 31);
  }
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<(n + 7) / 8, 256>>>(x, y, n, m); }
