// task: copy
// expect: FAIL_RUNTIME cuda_error
// A block of none. Caught by: the same.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) { copy<<<1, 0>>>(x, y, n * m); }
