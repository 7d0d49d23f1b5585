// task: copy
// expect: FAIL_RUNTIME cuda_error
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) { copy<<<1u << 31, 256>>>(x, y, n * m); }
