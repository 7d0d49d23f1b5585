// task: gpu_scale_bias
// expect: FAIL_INCORRECT tolerance
// No bias.

__global__ void work(const float* x, const float*, float* y, int all, int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < all) y[i] = x[i] * 0.5f;
}

extern "C" void launch(const float* x, const float* b, float* y, int n, int m) {
  work<<<(n * m + 255) / 256, 256>>>(x, b, y, n * m, m);
}
