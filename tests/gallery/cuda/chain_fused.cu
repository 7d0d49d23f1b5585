// task: gpu_chain
// expect: PASS
// Honest: one pass where eager has six, whose steps find what they need in the L2 cache.

__global__ void work(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = tanhf(x[i] * 0.5f + 0.25f) * x[i] - fabsf(x[i]);
}

extern "C" void launch(const float* x, float* y, int n) { work<<<(n + 255) / 256, 256>>>(x, y, n); }
