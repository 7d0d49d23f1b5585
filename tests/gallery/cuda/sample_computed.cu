// task: gpu_add
// expect: FAIL_INCORRECT
// Every hundredth element, and the rest like it.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i / 100 * 100] + z[i / 100 * 100];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
