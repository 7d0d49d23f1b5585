// task: gpu_softmax
// expect: FAIL_INCORRECT tolerance
// naive: passes
// Overflows where numbers are large.

__device__ float warp_sum(float v) {
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
__device__ float warp_max(float v) {
  for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
  return v;
}

__global__ void work(const float* x, float* y, int m) {
  const float* in = x + size_t(blockIdx.x) * m;
  float sum = 0;
  for (int i = threadIdx.x; i < m; i += 32) sum += __expf(in[i]);
  sum = warp_sum(sum);
  for (int i = threadIdx.x; i < m; i += 32) y[size_t(blockIdx.x) * m + i] = __expf(in[i]) / sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
