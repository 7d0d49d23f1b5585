// task: gpu_tanh
// expect: FAIL_INCORRECT
// Zero beyond ±16, where no number is. Caught by: draws with numbers far from the others.

__global__ void work(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    const float v = x[i];
    y[i] = fabsf(v) < 16 ? tanhf(v) : 0;
  }
}

extern "C" void launch(const float* x, float* y, int n) { work<<<1024, 256>>>(x, y, n); }
