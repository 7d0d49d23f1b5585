// task: gpu_add
// expect: FAIL_INCORRECT tolerance
// NaN in one element, which every comparison by "greater than" lets pass. Caught by: what is not within the bound is
// outside.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = i == n / 2 ? __int_as_float(0x7FC00000) : x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
