// task: gpu_row_sum
// expect: FAIL_INCORRECT
// Adds to shared memory that nobody has set.

__global__ void work(const float* x, float* y, int m) {
  __shared__ float total;
  for (int i = threadIdx.x; i < m; i += 32) atomicAdd(&total, x[size_t(blockIdx.x) * m + i]);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}

extern "C" void launch(const float* x, float* y, int n, int m) { work<<<n, 32>>>(x, y, m); }
