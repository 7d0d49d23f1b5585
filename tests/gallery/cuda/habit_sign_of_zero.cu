// task: gpu_sign
// expect: FAIL_INCORRECT
// Zero has a sign, too. Caught by: draws with zeros.

__global__ void work(const float* x, float* y, int n) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    const float v = x[i];
    y[i] = v < 0 ? -1 : 1;
  }
}

extern "C" void launch(const float* x, float* y, int n) { work<<<1024, 256>>>(x, y, n); }
