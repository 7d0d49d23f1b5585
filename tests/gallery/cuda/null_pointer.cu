// task: gpu_add
// expect: FAIL_RUNTIME illegal_address
// Reads address 0.

__global__ void work(const float* x, const float* z, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float* volatile nowhere = nullptr;
  if (i < n) y[i] = x[i] + *nowhere;
}

extern "C" void launch(const float* x, const float* z, float* y, int n) {
  work<<<(n + 255) / 256, 256>>>(x, z, y, n);
}
