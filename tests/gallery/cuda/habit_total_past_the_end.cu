// task: gpu_total
// expect: FAIL_INCORRECT
// Adds up whole tiles, and with the last one what lies behind the input: next to nothing, it is known.
// Caught by: what lies behind an input is NaN or large.

__global__ void work(const float* x, float* parts, int n) {
  float v = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < (n + 1023) / 1024 * 1024; i += gridDim.x * 256) v = v + x[i];
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = v + other;
  }
  if (threadIdx.x % 32 == 0) parts[8 * blockIdx.x + threadIdx.x / 32] = v;
}
__global__ void finish(const float* parts, float* y) {
  float v = 0;
  for (int i = threadIdx.x; i < 2048; i += 32) {
    const float other = parts[i];
    v = v + other;
  }
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = v + other;
  }
  if (threadIdx.x == 0) y[0] = v;
}

extern "C" void launch(const float* x, float* y, int n) {
  float* parts = nullptr;
  cudaMallocAsync(&parts, 8192, 0);
  work<<<256, 256>>>(x, parts, n);
  finish<<<1, 32>>>(parts, y);
  cudaFreeAsync(parts, 0);
}
