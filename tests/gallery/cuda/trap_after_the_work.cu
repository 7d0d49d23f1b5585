// task: gpu_add
// expect: FAIL_RUNTIME|FAIL_TIMEOUT
// All is done, and the last block traps. Caught by: an error of the call is a failure, whatever the output.
// Once, while other GPUs of the host faulted, the driver said so after the time was up.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i];
  __threadfence();
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) asm volatile("trap;");
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
