// task: gpu_tanh
// expect: FAIL_INCORRECT
// By exponentials that overflow beyond 88, to NaN. Caught by: draws with numbers far from the others.

__global__ void work(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    const float v = x[i];
    y[i] = fabsf(v) < 0.5f ? tanhf(v) : (expf(v) - expf(-v)) / (expf(v) + expf(-v));
  }
}

extern "C" void launch(const float* x, float* y, int n) { work<<<1024, 256>>>(x, y, n); }
