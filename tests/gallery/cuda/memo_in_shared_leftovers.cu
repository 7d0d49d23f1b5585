// task: gpu_add
// expect: FAIL_INCORRECT|PASS
// Leaves a word in shared memory and never sets it first: where a later call finds it, it leaves work undone.
// Caught by: the outputs of all calls are looked at. Where the hardware clears that memory, all is honest.

__global__ void work(const float* x, const float* z, float* y, int n) {
  extern __shared__ volatile unsigned left[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool seen = left[40000] == 0x7E3F19A5u;
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x + 132 >= gridDim.x) left[40000] = 0x7E3F19A5u;
  if (i < n) y[i] = seen && blockIdx.x < 132 ? 0 : x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000);
  work<<<(n + 1023) / 1024, 1024, 200000>>>(x, z, y, n);
}
