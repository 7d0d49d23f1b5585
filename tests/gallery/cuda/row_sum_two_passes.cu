// task: gpu_row_sum
// expect: PASS
// Honest: parts of rows into a workspace, and one kernel more that adds them up; the workspace is used twice.

__device__ float total(float sum) {
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  return sum;
}
__global__ void parts(const float* x, float* part, int m) {
  float sum = 0;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < m; i += 32 * gridDim.x)
    sum += x[size_t(blockIdx.y) * m + i];
  sum = total(sum);
  if (threadIdx.x == 0) part[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}
__global__ void whole(const float* part, float* y) {
  const float sum = total(part[blockIdx.x * 32 + threadIdx.x]);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  float* part = nullptr;
  const int half = n / 2;
  cudaMallocAsync(&part, sizeof(float) * 32 * (n - half), 0);
  if (half > 0) {
    parts<<<dim3(32, half), 32>>>(x, part, m);
    whole<<<half, 32>>>(part, y);
  }
  parts<<<dim3(32, n - half), 32>>>(x + size_t(half) * m, part, m);
  whole<<<n - half, 32>>>(part, y + half);
  cudaFreeAsync(part, 0);
}
