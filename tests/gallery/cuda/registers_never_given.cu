// task: gpu_add
// expect: FAIL_TIMEOUT timeout
// Asks for registers that no other warp gives back. Caught by: the budget.

__global__ void __launch_bounds__(512, 1) work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 511) / 512, 512>>>(x, z, y, n);
}
