// task: copy
// expect: FAIL_RUNTIME cuda_error
// message: cudaErrorInvalidValue: _Z4copyPKfPfi has 307200 bytes of dynamic shared memory
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  copy<<<(n * m + 255) / 256, 256, 300 << 10>>>(x, y, n * m);
}
