// task: copy
// expect: FAIL_RUNTIME cuda_error
// message: cudaErrorInvalidConfiguration
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 2047) / 2048, 2048>>>(x, y, n * m);
}
