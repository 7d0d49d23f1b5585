// task: copy
// expect: FAIL_PLAN host_memory
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  float* t;
  cudaMallocManaged(&t, 4 * n);
  t[0] = 1;
  copy<<<(n * m + 255) / 256, 256>>>(x, y, n * m);
}
