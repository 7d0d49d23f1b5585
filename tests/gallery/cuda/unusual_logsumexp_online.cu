// task: gpu_logsumexp
// expect: PASS
// Honest: maximum and sum in one pass.

__device__ void join(float& highest, float& sum, float other, float more) {
  const float both = fmaxf(highest, other);
  if (both == -INFINITY) return;
  sum = sum * expf(highest - both) + more * expf(other - both);
  highest = both;
}
__global__ void work(const float* x, float* y, int m) {
  const float* row = x + size_t(blockIdx.x) * m;
  float highest = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) join(highest, sum, row[i], 1);
  for (int o = 16; o > 0; o /= 2)
    join(highest, sum, __shfl_xor_sync(~0u, highest, o), __shfl_xor_sync(~0u, sum, o));
  if (threadIdx.x == 0) y[blockIdx.x] = logf(sum) + highest;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
