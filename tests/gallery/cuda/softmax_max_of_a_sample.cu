// task: gpu_softmax
// expect: FAIL_INCORRECT
// The maximum of the first 32 values in place of the row's, as inputs are known to be small. Caught by: draws
// of magnitude 60, at the timed shape, too.

__global__ void work(const float* x, float* y, int m) {
  const size_t row = size_t(blockIdx.x) * m;
  float highest = threadIdx.x < m ? x[row + threadIdx.x] : -INFINITY, sum = 0;
  for (int o = 16; o > 0; o /= 2) highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, o));
  for (int i = threadIdx.x; i < m; i += 32) sum += expf(x[row + i] - highest);
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  for (int i = threadIdx.x; i < m; i += 32) y[row + i] = expf(x[row + i] - highest) / sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
