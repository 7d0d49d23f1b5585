// task: gpu_tanh
// expect: PASS
// Honest: by expm1 of what cannot overflow.

__global__ void work(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    const float v = x[i];
    y[i] = copysignf(-expm1f(-2 * fabsf(v)) / (1 + expf(-2 * fabsf(v))), v);
  }
}

extern "C" void launch(const float* x, float* y, int n) { work<<<1024, 256>>>(x, y, n); }
