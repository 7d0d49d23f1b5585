// task: gpu_layer_norm
// expect: PASS
// slower than: layer_norm_registers
// A block per row, three passes.

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

__global__ void work(const float* x, const float* w, const float* b, float* y, int m) {
  __shared__ float shared[8];
  const float* row = x + size_t(blockIdx.x) * m;
  float sum = 0, square = 0;
  for (int j = threadIdx.x; j < m; j += 256) sum += row[j];
  const float mean = over_block(sum, shared, false) / m;
  for (int j = threadIdx.x; j < m; j += 256) square += (row[j] - mean) * (row[j] - mean);
  const float scale = rsqrtf(over_block(square, shared, false) / m + 1e-5f);
  for (int j = threadIdx.x; j < m; j += 256)
    y[size_t(blockIdx.x) * m + j] = (row[j] - mean) * scale * w[j] + b[j];
}

extern "C" void launch(const float* x, const float* w, const float* b, float* y, int n, int m) {
  work<<<n, 256>>>(x, w, b, y, m);
}
