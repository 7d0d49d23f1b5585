// task: gpu_add
// expect: FAIL_INCORRECT unwritten
// naive: passes
// Whole tiles only, where there is one.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (n < 256 ? n : n / 256 * 256)) y[i] = x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
