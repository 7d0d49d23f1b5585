// task: gpu_rms_norm
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

__global__ void work(const float* x, const float* a, float* y, int m) {
  __shared__ float shared[8];
  const float* row = x + size_t(blockIdx.x) * m;
  float sum = 0;
  for (int j = threadIdx.x; j < m; j += 256) sum += row[j] * row[j];
  const float scale = rsqrtf(over_block(sum, shared, false) / m + 1e-5f);
  for (int j = threadIdx.x; j < m; j += 256) y[size_t(blockIdx.x) * m + j] = row[j] * scale * a[j];
}

extern "C" void launch(const float* x, const float* a, float* y, int n, int m) {
  work<<<n, 256>>>(x, a, y, m);
}
