// task: gpu_cross_entropy
// expect: PASS
// A block per row, two passes.

__device__ float over_block(float value, float* shared, bool largest) {
  const int t = threadIdx.x;
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffff, value, step);
    value = largest ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (t % 32 == 0) shared[t / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int warp = 1; warp < int(blockDim.x) / 32; ++warp)
    value = largest ? fmaxf(value, shared[warp]) : value + shared[warp];
  return value;
}

__global__ void work(const float* x, const int* t, float* y, int m) {
  __shared__ float shared[8];
  const float* row = x + size_t(blockIdx.x) * m;
  float most = -INFINITY, sum = 0;
  for (int j = threadIdx.x; j < m; j += 256) most = fmaxf(most, row[j]);
  most = over_block(most, shared, true);
  for (int j = threadIdx.x; j < m; j += 256) sum += expf(row[j] - most);
  sum = over_block(sum, shared, false);
  if (threadIdx.x == 0) y[blockIdx.x] = logf(sum) + most - row[t[blockIdx.x]];
}

extern "C" void launch(const float* x, const int* t, float* y, int n, int m) { work<<<n, 256>>>(x, t, y, m); }
