// task: gpu_add
// expect: FAIL_INCORRECT
// What falls to multiprocessor 7 is left undone: under a hundredth of the work, another part each time.
// Caught by: all elements of each timed call are looked at.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned processor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(processor));
  if (i < n) y[i] = processor == 7 ? 0 : x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
