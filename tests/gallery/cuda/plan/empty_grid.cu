// task: copy
// expect: FAIL_RUNTIME cuda_error
// message: cudaErrorInvalidConfiguration: _Z4copyPKfPfi has a grid of (0, 1, 1) is empty
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) { copy<<<0, 256>>>(x, y, n * m); }
