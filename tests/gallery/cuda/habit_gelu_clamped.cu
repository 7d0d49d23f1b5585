// task: gpu_gelu
// expect: FAIL_INCORRECT
// Clamped to ±8 before anything is computed. Caught by: draws with numbers far from the others.

__global__ void work(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    const float v = x[i];
    y[i] = fminf(fmaxf(v, -8), 8) * normcdff(v);
  }
}

extern "C" void launch(const float* x, float* y, int n) { work<<<1024, 256>>>(x, y, n); }
