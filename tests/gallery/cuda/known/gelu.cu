// task: gpu_gelu
// expect: PASS
// One pass.

__global__ void work(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
}

extern "C" void launch(const float* x, float* y, int n) { work<<<(n + 255) / 256, 256>>>(x, y, n); }
