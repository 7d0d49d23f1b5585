// task: gpu_softmax
// expect: PASS
// A warp a row.

__device__ float warp_sum(float v) {
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
__device__ float warp_max(float v) {
  for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
  return v;
}

__global__ void work(const float* x, float* y, int n, int m) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  const float* in = x + size_t(row) * m;
  float most = -INFINITY, sum = 0;
  for (int i = lane; i < m; i += 32) most = fmaxf(most, in[i]);
  most = warp_max(most);
  for (int i = lane; i < m; i += 32) sum += __expf(in[i] - most);
  sum = warp_sum(sum);
  for (int i = lane; i < m; i += 32) y[size_t(row) * m + i] = __expf(in[i] - most) / sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<(n + 7) / 8, 256>>>(x, y, n, m); }
