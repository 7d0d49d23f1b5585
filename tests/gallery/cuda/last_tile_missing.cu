// task: gpu_add
// expect: FAIL_INCORRECT unwritten
// Whole blocks only.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] + z[i];
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  if (n >= 256) work<<<n / 256, 256>>>(x, z, y, n);
}
