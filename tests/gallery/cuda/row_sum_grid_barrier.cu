// task: gpu_row_sum
// expect: PASS
// Honest: a cooperative launch with a barrier of its own over all blocks, whose waiting threads sleep.

constexpr int kBlocks = 128;

__global__ void work(const float* x, float* part, unsigned* arrived, float* y, int n, int m) {
  for (int row = blockIdx.x / 2; row < n; row += kBlocks / 2) {  // two blocks a row
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    float mine = 0;
    for (int i = blockIdx.x % 2 * blockDim.x + threadIdx.x; i < m; i += 2 * blockDim.x)
      mine += x[size_t(row) * m + i];
    for (int o = 16; o > 0; o /= 2) mine += __shfl_xor_sync(~0u, mine, o);
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0) part[2 * row + blockIdx.x % 2] = sum;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    for (unsigned sleep = 32; *static_cast<volatile unsigned*>(arrived) < kBlocks;
         sleep = min(2 * sleep, 256u))
      __nanosleep(sleep);
    __threadfence();
  }
  __syncthreads();
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < n; row += kBlocks * blockDim.x)
    y[row] = __ldcg(part + 2 * row) + __ldcg(part + 2 * row + 1);
}

extern "C" void launch(const float* x, float* y, int n, int m) {
  float* part = nullptr;
  unsigned* arrived = nullptr;
  cudaMalloc(&part, 2 * n * sizeof(float));
  cudaMalloc(&arrived, sizeof(unsigned));
  cudaMemsetAsync(arrived, 0, sizeof(unsigned), 0);
  void* arguments[] = {&x, &part, &arrived, &y, &n, &m};
  cudaLaunchCooperativeKernel(work, dim3(kBlocks), dim3(256), arguments, 0, 0);
  cudaFree(part);
  cudaFree(arrived);
}
