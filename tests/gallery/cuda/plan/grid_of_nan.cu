// task: copy
// expect: FAIL_RUNTIME cuda_error
// A grid from a division of zero by zero. Caught by: what CUDA would say.
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  volatile float zero = 0;
  copy<<<int(zero / zero), 256>>>(x, y, n * m);
}
