// task: gpu_histogram
// expect: FAIL_INCORRECT
// A warp adds at most twelve that are alike at once: so many hardly ever are. Caught by: draws of equal or
// sorted indices.

__global__ void work(const int* i, int* y, int m) {
  __shared__ unsigned bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int at = threadIdx.x; at < m; at += blockDim.x) {
    const int mine = i[size_t(blockIdx.x) * m + at];
    const unsigned alike = __match_any_sync(__activemask(), mine);
    if (__ffs(alike) - 1 == int(threadIdx.x % 32)) atomicAdd(bins + mine, min(__popc(alike), 12));
  };
  __syncthreads();
  if (threadIdx.x < 64) y[64 * blockIdx.x + threadIdx.x] = bins[threadIdx.x];
}

extern "C" void launch(const int* i, int* y, int n, int m) { work<<<n, 256>>>(i, y, m); }
