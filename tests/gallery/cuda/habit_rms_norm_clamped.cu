// task: gpu_rms_norm_rows
// expect: FAIL_INCORRECT
// Squares of what is clamped to ±16. Caught by: draws with numbers far from the others.

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
  for (int i = lane; i < m; i += 32) {
    const float v = fminf(fmaxf(row[i], -16), 16);
    squares += v * v;
  }
  const float scale = rsqrtf(joined(squares, false) / m + 1e-5f);
  for (int i = lane; i < m; i += 32) y[size_t(blockIdx.x) * m + i] = row[i] * scale;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
