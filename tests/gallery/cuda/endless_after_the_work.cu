// task: gpu_add
// expect: FAIL_TIMEOUT timeout
// All is done, and the last thread never ends. Caught by: the budget; the runner is ended.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  if (i == n - 1)
    while (*static_cast<volatile float*>(y) < 1e30f) __nanosleep(1000);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
