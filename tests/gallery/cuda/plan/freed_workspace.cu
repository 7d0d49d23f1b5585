// task: copy
// expect: FAIL_PLAN pointer_outside
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  float* t;
  cudaMalloc(&t, 4 * n * m);
  cudaFree(t);
  copy<<<(n * m + 255) / 256, 256>>>(x, t, n * m);
}
