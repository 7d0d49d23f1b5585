// task: copy
// expect: FAIL_TIMEOUT timeout
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  for (volatile int i = 0;; ++i) {
  }
}
