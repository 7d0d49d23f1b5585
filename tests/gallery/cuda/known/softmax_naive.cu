// task: gpu_softmax
// expect: PASS
// slower than: softmax_block
// A thread per row, three passes over strided memory.

__global__ void work(const float* x, float* y, int n, int m) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float most = -INFINITY, sum = 0;
  for (int j = 0; j < m; ++j) most = fmaxf(most, x[row * m + j]);
  for (int j = 0; j < m; ++j) sum += expf(x[row * m + j] - most);
  for (int j = 0; j < m; ++j) y[row * m + j] = expf(x[row * m + j] - most) / sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<(n + 127) / 128, 128>>>(x, y, n, m); }
