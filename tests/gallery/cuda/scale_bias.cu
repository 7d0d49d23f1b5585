// task: gpu_scale_bias
// expect: PASS
// As asked.

__global__ void work(const float* x, const float* b, float* y, int all, int m) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < all) y[i] = x[i] * 0.5f + b[i % m];
}

extern "C" void launch(const float* x, const float* b, float* y, int n, int m) {
  work<<<(n * m + 255) / 256, 256>>>(x, b, y, n * m, m);
}
