// task: gpu_row_sum
// expect: FAIL_INCORRECT
// Adds to an output that it believes to be zero. Caught by: poison.

__global__ void work(const float* x, float* y, int m) {
  float sum = 0;
  for (int i = blockIdx.y * 32 + threadIdx.x; i < m; i += 128) sum += x[size_t(blockIdx.x) * m + i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) atomicAdd(y + blockIdx.x, sum);
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<dim3(n, 4), 32>>>(x, y, m); }
