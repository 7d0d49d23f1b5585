// task: gpu_histogram
// expect: FAIL_INCORRECT
// Bins hold 64 and drop what comes later. Caught by: draws of equal or crowded indices.

__global__ void work(const int* i, int* y, int m) {
  __shared__ unsigned bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int at = threadIdx.x; at < m; at += blockDim.x) atomicAdd(bins + i[size_t(blockIdx.x) * m + at], 1);
  __syncthreads();
  if (threadIdx.x < 64) y[64 * blockIdx.x + threadIdx.x] = min(bins[threadIdx.x], 64u);
}

extern "C" void launch(const int* i, int* y, int n, int m) { work<<<n, 256>>>(i, y, m); }
