// task: gpu_add
// expect: FAIL_INCORRECT unwritten
// naive: passes
// Writes nothing.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 0) y[i] = 0;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
