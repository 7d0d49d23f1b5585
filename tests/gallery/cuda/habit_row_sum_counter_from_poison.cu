// task: gpu_row_sum
// expect: FAIL_INCORRECT
// The last block of a row adds up, by a counter that begins at -1 in a workspace that nobody has set.
// Caught by: workspaces hold something else in each call.

__global__ void work(const float* x, float* y, float* parts, int* counter, int m) {
  float sum = 0;
  for (int i = blockIdx.y * 32 + threadIdx.x; i < m; i += 128) sum += x[size_t(blockIdx.x) * m + i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x != 0) return;
  parts[4 * blockIdx.x + blockIdx.y] = sum;
  __threadfence();
  if (atomicAdd(counter + blockIdx.x, 1) != 2) return;
  const volatile float* mine = parts + 4 * blockIdx.x;
  y[blockIdx.x] = mine[0] + mine[1] + mine[2] + mine[3];
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  float* parts = nullptr;
  int* counter = nullptr;
  cudaMallocAsync(&parts, 16 * n, 0);
  cudaMallocAsync(&counter, 4 * n, 0);
  work<<<dim3(n, 4), 32>>>(x, y, parts, counter, m);
  cudaFreeAsync(parts, 0);
  cudaFreeAsync(counter, 0);
}
