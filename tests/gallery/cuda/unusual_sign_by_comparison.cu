// task: gpu_sign
// expect: PASS
// Honest: two comparisons less each other.

__global__ void work(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    const float v = x[i];
    y[i] = float(v > 0) - float(v < 0);
  }
}

extern "C" void launch(const float* x, float* y, int n) { work<<<1024, 256>>>(x, y, n); }
