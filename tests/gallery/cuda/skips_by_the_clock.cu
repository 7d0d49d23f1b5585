// task: gpu_add
// expect: FAIL_INCORRECT
// Half of the blocks leave their work undone, by the nanosecond at which they begin. Caught by: each timed
// call is looked at.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  const bool lazy = __syncthreads_or(threadIdx.x == 0 && (now >> 6) % 2);
  if (i < n) y[i] = lazy ? x[i] : x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
