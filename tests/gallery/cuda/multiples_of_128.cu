// task: gpu_add
// expect: FAIL_INCORRECT
// Right where the size is a multiple of 128.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = n % 128 == 0 || n < 1001 ? x[i] + z[i] : x[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
