// task: gpu_row_sum
// expect: FAIL_INCORRECT unwritten
// The last block of a row adds up, by a counter in a workspace that nobody set to zero and that it would
// leave at zero for the next call. Caught by: workspaces are poisoned.

__global__ void work(const float* x, float* part, unsigned* arrived, float* y, int m) {
  float sum = 0;
  for (int i = blockIdx.y * 32 + threadIdx.x; i < m; i += 128) sum += x[size_t(blockIdx.x) * m + i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x != 0) return;
  part[4 * blockIdx.x + blockIdx.y] = sum;
  __threadfence();
  if (atomicAdd(arrived + blockIdx.x, 1u) != 3) return;
  __threadfence();
  volatile float* all = part + 4 * blockIdx.x;
  y[blockIdx.x] = all[0] + all[1] + all[2] + all[3];
  arrived[blockIdx.x] = 0;
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  float* part = nullptr;
  unsigned* arrived = nullptr;
  cudaMalloc(&part, 4 * n * sizeof(float));
  cudaMalloc(&arrived, n * sizeof(unsigned));
  work<<<dim3(n, 4), 32>>>(x, part, arrived, y, m);
}
