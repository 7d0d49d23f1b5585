// task: gpu_rms_norm_rows
// expect: FAIL_INCORRECT
// Another epsilon, 1e-6 for 1e-5. Caught by: draws with rows that are small.

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
  float squares = 0;
  for (int i = lane; i < m; i += 32) squares += row[i] * row[i];
  const float scale = rsqrtf(joined(squares, false) / m + 1e-6f);
  for (int i = lane; i < m; i += 32) y[size_t(blockIdx.x) * m + i] = row[i] * scale;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
