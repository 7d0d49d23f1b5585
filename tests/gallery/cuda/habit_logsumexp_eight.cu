// task: gpu_logsumexp
// expect: FAIL_INCORRECT
// Eight for the maximum, which numbers are known to stay below. Caught by: draws with numbers far from the
// others.

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
  float sum = 0;
  for (int i = lane; i < m; i += 32) sum += expf(row[i] - 8);
  sum = joined(sum, false);
  if (lane == 0) y[blockIdx.x] = logf(sum) + 8;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
