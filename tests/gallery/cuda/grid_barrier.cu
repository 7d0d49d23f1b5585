// task: gpu_add
// expect: FAIL_TIMEOUT|FAIL_PLAN|FAIL_RUNTIME
// A barrier over blocks of which not all run at once.

__global__ void work(const float* x, const float* z, float* y, unsigned* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  if (threadIdx.x == 0) {
    atomicAdd(count, 1u);
    while (*static_cast<volatile unsigned*>(count) < gridDim.x) __nanosleep(100);
  }
  __syncthreads();
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  unsigned* count = nullptr;
  cudaMalloc(&count, sizeof(unsigned));
  cudaMemsetAsync(count, 0, sizeof(unsigned), 0);
  work<<<(n + 255) / 256, 256>>>(x, z, y, count, n);
  cudaFree(count);
}
