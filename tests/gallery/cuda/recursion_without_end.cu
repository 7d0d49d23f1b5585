// task: gpu_add
// expect: FAIL_RUNTIME
// A function that calls itself until its stack is gone. Caught by: the hardware; what it did to the context
// ends with the runner.

__device__ __noinline__ float deeper(const float* x, int depth) {
  volatile float here[32];
  here[depth % 32] = x[0];
  return depth <= 0 ? 0 : here[depth % 32] + deeper(x, depth - 1) + here[(depth + 1) % 32];
}
__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + z[i] + 0 * deeper(x, 1 << 20);
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
