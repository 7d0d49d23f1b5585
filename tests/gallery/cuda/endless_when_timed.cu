// task: gpu_add
// expect: FAIL_TIMEOUT timeout
// … at the size that is timed.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  while (n > 1000000 && *static_cast<const volatile float*>(x) < 1e30f) __nanosleep(100);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
