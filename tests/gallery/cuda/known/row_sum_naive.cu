// task: gpu_row_sum
// expect: PASS
// slower than: row_sum_tree
// A thread per row.

__global__ void work(const float* x, float* y, int n, int m) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int j = 0; j < m; ++j) sum += x[row * m + j];
  y[row] = sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<(n + 127) / 128, 128>>>(x, y, n, m); }
