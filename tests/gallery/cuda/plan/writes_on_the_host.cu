// task: copy
// expect: FAIL_PLAN host_read
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = 0;
}
