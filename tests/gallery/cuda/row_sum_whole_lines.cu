// task: gpu_row_sum
// expect: FAIL_INCORRECT tolerance
// Leaves out the last few of a row, which 32 does not divide: a thousandth at the timed shape. Caught by: an
// error beyond the bound of f32, at odd sizes most of all.

__global__ void work(const float* x, float* y, int m) {
  float sum = 0;
  for (int i = threadIdx.x; i < m / 32 * 32; i += 32) sum += x[size_t(blockIdx.x) * m + i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
