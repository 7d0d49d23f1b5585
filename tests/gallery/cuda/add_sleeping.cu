// task: gpu_add
// expect: PASS
// no faster than: add_plain
// Sleeps in each call: the time is counted.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  if (blockIdx.x < 1000) __nanosleep(20000);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
