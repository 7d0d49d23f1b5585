// task: gpu_variance
// expect: FAIL_INCORRECT
// The mean of squares less the square of the mean, which cancels far from zero. Caught by: draws with an
// offset.

__device__ float joined(float v, bool largest) {
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = largest ? fmaxf(v, other) : v + other;
  }
  return v;
}

__global__ void work(const float* x, float* y, int m) {
  const float* row = x + size_t(blockIdx.x) * m;
  const int lane = threadIdx.x;
  float sum = 0, squares = 0;
  for (int i = lane; i < m; i += 32) sum += row[i], squares += row[i] * row[i];
  const float mean = joined(sum, false) / m, variance = joined(squares, false) / m - mean * mean;
  if (lane == 0) y[blockIdx.x] = variance;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
