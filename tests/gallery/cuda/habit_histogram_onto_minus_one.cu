// task: gpu_histogram
// expect: FAIL_INCORRECT
// Counts onto outputs that hold -1, and adds one. Caught by: outputs hold something else in each call.

__global__ void work(const int* i, int* y, int m) {
  for (int at = threadIdx.x; at < m; at += blockDim.x)
    atomicAdd(y + 64 * blockIdx.x + i[size_t(blockIdx.x) * m + at], 1);
  __syncthreads();
  if (threadIdx.x < 64) y[64 * blockIdx.x + threadIdx.x] += 1;
}

extern "C" void launch(const int* i, int* y, int n, int m) { work<<<n, 256>>>(i, y, m); }
