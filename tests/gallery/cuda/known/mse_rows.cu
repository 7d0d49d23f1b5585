// task: gpu_mse_rows
// expect: PASS
// A block per row.

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

__global__ void work(const float* x, const float* z, float* y, int m) {
  __shared__ float shared[8];
  float sum = 0;
  for (int j = threadIdx.x; j < m; j += 256) {
    const size_t i = size_t(blockIdx.x) * m + j;
    sum += (x[i] - z[i]) * (x[i] - z[i]);
  }
  sum = over_block(sum, shared, false);
  if (threadIdx.x == 0) y[blockIdx.x] = sum / m;
}

extern "C" void launch(const float* x, const float* z, float* y, int n, int m) {
  work<<<n, 256>>>(x, z, y, m);
}
