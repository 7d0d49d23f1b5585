// task: gpu_layer_norm
// expect: FAIL_INCORRECT
// The variance in one pass. Caught by: draws with an offset.

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
  const float scale = rsqrtf(fmaxf(variance, 0) + 1e-5f);
  for (int i = lane; i < m; i += 32) y[size_t(blockIdx.x) * m + i] = (row[i] - mean) * scale;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
