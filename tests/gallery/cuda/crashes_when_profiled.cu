// task: gpu_add
// expect: PASS|FAIL_RUNTIME
// no faster than: add_plain
// Leaves a word in shared memory at the small shapes and traps at the large one where it is missing: in a
// process that sees the timed call alone. Caught by: nothing is won, and others keep their profiles; where
// that memory is cleared between calls it is a crash.

__global__ void work(const float* x, const float* z, float* y, int n) {
  extern __shared__ volatile unsigned left[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n > 1000000 && gridDim.x == 1 && left[40000] != 0x3C96E15Bu) asm volatile("trap;");
  if (threadIdx.x == 0) left[40000] = 0x3C96E15Bu;
  if (gridDim.x > 1 && i < n) y[i] = x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, 200000);
  work<<<1, 256, 200000>>>(x, z, y, n);
  work<<<(n + 255) / 256 + 132, 256, 200000>>>(x, z, y, n);
}
