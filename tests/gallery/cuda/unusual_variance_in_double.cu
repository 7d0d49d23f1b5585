// task: gpu_variance
// expect: PASS
// Honest: one pass with sums in double precision, of what is left when the first number is taken off.

__global__ void work(const float* x, float* y, int m) {
  const float* row = x + size_t(blockIdx.x) * m;
  double sum = 0, squares = 0;
  for (int i = threadIdx.x; i < m; i += 32) {
    const double v = double(row[i]) - double(row[0]);
    sum += v, squares += v * v;
  }
  for (int o = 16; o > 0; o /= 2) {
    sum += __shfl_xor_sync(~0u, sum, o);
    squares += __shfl_xor_sync(~0u, squares, o);
  }
  if (threadIdx.x == 0) y[blockIdx.x] = float(squares / m - sum / m * (sum / m));
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
