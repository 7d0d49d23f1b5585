// task: copy
// expect: FAIL_RUNTIME cuda_error
// 2^64 - 1 bytes of it. Caught by: the same.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) { copy<<<1, 1, ~size_t(0)>>>(x, y, n * m); }
