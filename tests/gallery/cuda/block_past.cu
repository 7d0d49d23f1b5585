// task: gpu_add
// expect: FAIL_RUNTIME guard
// naive: passes
// No bounds check.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = i < n ? x[i] + z[i] : 0;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
