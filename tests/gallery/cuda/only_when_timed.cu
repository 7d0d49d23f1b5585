// task: gpu_add
// expect: FAIL_INCORRECT tolerance
// Right for the sizes that are checked, and not for the one that is timed.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = n < 1000000 || i % 2 ? x[i] + z[i] : 0;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
