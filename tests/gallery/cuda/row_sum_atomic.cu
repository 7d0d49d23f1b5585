// task: gpu_row_sum
// expect: PASS
// Atomics: other last bits in each run.

__global__ void work(const float* x, float* y, int m) {
  float sum = 0;
  for (int i = threadIdx.x + blockIdx.x % 4 * blockDim.x; i < m; i += 4 * blockDim.x)
    sum += x[size_t(blockIdx.x / 4) * m + i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x % 32 == 0) atomicAdd(y + blockIdx.x / 4, sum);
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  cudaMemsetAsync(y, 0, n * sizeof(float), 0);
  work<<<4 * n, 128>>>(x, y, m);
}
