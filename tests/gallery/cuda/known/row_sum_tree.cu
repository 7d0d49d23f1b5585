// task: gpu_row_sum
// expect: PASS
// A small block per row, a tree in shared memory.

__global__ void work(const float* x, float* y, int m) {
  __shared__ float sums[64];
  float sum = 0;
  for (int j = threadIdx.x; j < m; j += 64) sum += x[size_t(blockIdx.x) * m + j];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 32; step > 0; step /= 2) {
    if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 64>>>(x, y, m); }
